#!/bin/sh
# A client of Scheduled Events in a few lines: asks every second, and approves what is announced.
# ENDPOINT is where it asks; on a VM in Azure that is the address below.
url="${ENDPOINT:-http://169.254.169.254}/metadata/scheduledevents?api-version=2020-07-01"
while :; do
  document=$(curl --silent --fail --header Metadata:true "$url") || document=
  for event in $(printf %s "$document" | grep -o '"EventId":"[^"]*","EventStatus":"Scheduled"' | cut -d '"' -f 4); do
    echo "preparing for $event"
    body="{\"StartRequests\": [{\"EventId\": \"$event\"}]}"
    curl --silent --fail --header Metadata:true --data "$body" "$url" && echo "approved $event"
  done
  sleep 1
done

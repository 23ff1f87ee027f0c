#!/bin/sh
# A small client of Scheduled Events: polls every second and approves the events of this VM.
# ENDPOINT is the address that it polls; on a VM in Azure that is the default below.
endpoint="${ENDPOINT:-http://169.254.169.254}"
url="$endpoint/metadata/scheduledevents?api-version=2020-07-01"
me="$endpoint/metadata/instance/compute/name?api-version=2021-02-01&format=text"
name=
while :; do
  document=$(curl --silent --fail --header Metadata:true "$url") || document=
  [ "$name" ] || name=$(curl --silent --fail --header Metadata:true "$me")
  # One event per line. VMs that share a document see each other's events: ours are those whose Resources name us.
  own=$(printf %s "$document" | tr '}' '\n' | grep '"EventStatus":"Scheduled"' | grep "\"Resources\":[^]]*\"$name\"")
  for event in $(printf %s "$own" | grep -o '"EventId":"[^"]*"' | cut -d '"' -f 4); do
    echo "preparing for $event"
    body="{\"StartRequests\": [{\"EventId\": \"$event\"}]}"
    curl --silent --fail --header Metadata:true --data "$body" "$url" && echo "approved $event"
  done
  sleep 1
done

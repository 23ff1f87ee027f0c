#!/bin/sh
# A client of Scheduled Events in a few lines: asks every second, and approves what is announced for this VM.
# ENDPOINT is where it asks; on a VM in Azure that is the address below.
endpoint="${ENDPOINT:-http://169.254.169.254}"
url="$endpoint/metadata/scheduledevents?api-version=2020-07-01"
me="$endpoint/metadata/instance/compute/name?api-version=2021-02-01&format=text"
name=
while :; do
  document=$(curl --silent --fail --header Metadata:true "$url") || document=
  [ "$name" ] || name=$(curl --silent --fail --header Metadata:true "$me")
  # One event a line. Who shares a document sees the others' events too: its own are those whose Resources name it.
  own=$(printf %s "$document" | tr '}' '\n' | grep '"EventStatus":"Scheduled"' | grep "\"Resources\":[^]]*\"$name\"")
  for event in $(printf %s "$own" | grep -o '"EventId":"[^"]*"' | cut -d '"' -f 4); do
    echo "preparing for $event"
    body="{\"StartRequests\": [{\"EventId\": \"$event\"}]}"
    curl --silent --fail --header Metadata:true --data "$body" "$url" && echo "approved $event"
  done
  sleep 1
done

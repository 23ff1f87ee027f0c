#!/bin/sh
# Puts the client of web-0 through a reboot, over REST. Ends with 0 if it approved, and the reboot went through.
set -eu
forewarn="${FOREWARN_URL:-http://127.0.0.1:8255}"

# Until the service may be used, and the client has asked for the first time: before that nothing is announced.
curl --silent --show-error --fail --retry 60 --retry-delay 1 --retry-connrefused "$forewarn/readyz"
timeout 60 sh -c "until curl --silent $forewarn/v1/scopes | grep -q '\"is_on\":true'; do sleep 0.1; done"

# When this is answered, the event is in the document.
curl --silent --show-error --fail --data '{}' "$forewarn/v1/vms/web-0/restart" >restart.json
event=$(sed 's/.*"event":{"id":"\([^"]*\)".*/\1/' restart.json)

# The client has real seconds to prepare and to approve; its notice does not run meanwhile.
started="curl --silent $forewarn/v1/events/$event | grep -q '\"phase\":\"Started\"'"
timeout 60 sh -c "until $started; do sleep 0.1; done"

# When this is answered, all that was due in these ten minutes has been done.
curl --silent --show-error --fail --data '{"advance_seconds": 600}' "$forewarn/v1/clock"

# What the client did, in sentences; by its own seconds, as the service's clock was moved by hand.
forewarn report web-0 --pace real --url "$forewarn"

# Who approved, how long before the end of the notice, and what became of it.
curl --silent --show-error --fail "$forewarn/v1/history" >history.json
grep '"approved_by":"web-0"' history.json | grep -q '"outcome":"Completed"'

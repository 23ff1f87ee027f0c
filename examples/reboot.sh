#!/bin/sh
# Test the client of web-0 with a reboot, over REST. Exits with 0 if it approved and the reboot completed.
set -eu
forewarn="${FOREWARN_URL:-http://127.0.0.1:8255}"

# Wait until the service is ready and the client has polled once: before that, forewarn announces nothing.
curl --silent --show-error --fail --retry 60 --retry-delay 1 --retry-connrefused "$forewarn/readyz"
timeout 60 sh -c "until curl --silent $forewarn/v1/scopes | grep -q '\"is_on\":true'; do sleep 0.1; done"

# When this request is answered, the event is in the document.
curl --silent --show-error --fail --data '{}' "$forewarn/v1/vms/web-0/restart" >restart.json
event=$(sed 's/.*"event":{"id":"\([^"]*\)".*/\1/' restart.json)

# Give the client real seconds to prepare and to approve. The notice does not run meanwhile.
started="curl --silent $forewarn/v1/events/$event | grep -q '\"phase\":\"Started\"'"
timeout 60 sh -c "until $started; do sleep 0.1; done"

# When this request is answered, everything that was due in these ten minutes has been done.
curl --silent --show-error --fail --data '{"advance_seconds": 600}' "$forewarn/v1/clock"

# Show what the client did. Count real seconds, because the service's clock was advanced by hand.
forewarn report web-0 --pace real --url "$forewarn"

# Check who approved and how the event ended.
curl --silent --show-error --fail "$forewarn/v1/history" >history.json
grep '"approved_by":"web-0"' history.json | grep -q '"outcome":"Completed"'

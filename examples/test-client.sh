#!/bin/sh
# Start a service and a client whose address can be set, then test a reboot. Needs forewarn and curl.
set -eu

# In memory, with a clock that stands still until it is advanced. Every caller from this machine is web-0.
forewarn serve --store sqlite:// --clock virtual --fleet examples/web.toml --guest web-0 >forewarn.log &
service=$!

ENDPOINT=http://127.0.0.1:8254 sh examples/client.sh &
client=$!

trap 'kill $service $client' EXIT
sh examples/reboot.sh

"""Run inside a sandbox with the Azure Linux agent on the path: print what its client makes of the metadata."""

from __future__ import annotations

import inspect
import json
import sys

from azurelinuxagent.common.protocol import imds

takes_wireserver = "wireserver_endpoint" in inspect.signature(imds.get_imds_client).parameters
client = imds.get_imds_client("168.63.129.16") if takes_wireserver else imds.get_imds_client()
is_healthy, complaint = client.validate()
compute = client.get_compute()
json.dump(
    {
        "is_healthy": is_healthy,
        "complaint": complaint,
        "image_info": compute.image_info,
        "image_origin": compute.image_origin,
        "compute": vars(compute),
    },
    sys.stdout,
)

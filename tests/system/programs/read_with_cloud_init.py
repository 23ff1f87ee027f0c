"""Run inside a sandbox with cloud-init on the path: print what its Azure datasource makes of the metadata.

The datasource fetches and judges them with its own code. The steps that need Azure's wire server are left out.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile

from cloudinit import helpers
from cloudinit.sources import DataSourceAzure


class Complaints(logging.Handler):
    """What cloud-init warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def fetch(source: DataSourceAzure.DataSourceAzure) -> dict[str, object]:
    """The metadata, by the method of whichever release it is."""
    if hasattr(source, "get_metadata_from_imds"):
        return source.get_metadata_from_imds(report_failure=False)
    return source.get_imds_data_with_api_fallback(retries=0)


complaints = Complaints()
logging.getLogger().addHandler(complaints)
with tempfile.TemporaryDirectory() as folder:
    source = DataSourceAzure.DataSourceAzure({}, None, helpers.Paths({"cloud_dir": folder, "run_dir": folder}))
    found = fetch(source)
    source.metadata = {"imds": found}
    source._metadata_imds = found
    json.dump(
        {
            "complaints": complaints.texts,
            "is_network_valid": source.validate_imds_network_metadata(imds_md=found),
            "network": source.network_config,
            "ssh_keys": source.get_public_ssh_keys(),
            "hostname": DataSourceAzure._hostname_from_imds(found),
            "username": DataSourceAzure._username_from_imds(found),
            "disable_password": DataSourceAzure._disable_password_from_imds(found),
            "user_data": DataSourceAzure._userdata_from_imds(found),
            "pps_type": source._ppstype_from_imds(found),
            "region": source.region,
            "fault_domain": source.availability_zone,
            "size": found["compute"]["vmSize"],
        },
        sys.stdout,
    )

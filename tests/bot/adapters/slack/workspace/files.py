"""Files that people share, and the page that Slack shows to who may not read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LOGIN_PAGE = "<!DOCTYPE html><html><head><title>Slack</title></head><body>Sign in</body></html>"


@dataclass(frozen=True)
class StoredFile:
    """A file as it lies in the workspace."""

    name: str
    content: bytes
    mimetype: str = "text/plain"
    id: str = ""
    external: bool = False
    """It came over Slack Connect: events tell its id only, and that it must be asked for."""

    def told(self, site: str) -> dict[str, Any]:
        """Return it as events tell of it; ``site`` is where it can be downloaded."""
        if self.external:
            return {"id": self.id, "file_access": "check_file_info", "mode": "file_access"}
        address = f"{site}/files-pri/{self.id}/{self.name}"
        return {
            "id": self.id,
            "name": self.name,
            "title": self.name,
            "mimetype": self.mimetype,
            "filetype": self.name.rpartition(".")[2],
            "size": len(self.content),
            "mode": "hosted",
            "is_external": False,
            "url_private": address,
            "url_private_download": f"{site}/files-pri/{self.id}/download/{self.name}",
            "permalink": f"https://acme.slack.com/files/{self.id}",
        }

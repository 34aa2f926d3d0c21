"""Pigeon, an invented chat: a whole adapter by a third party, as small as it can be."""

from tests.contract.platforms.example_platform.adapter import (
    PigeonChannel,
    PigeonSettings,
    connect,
    mount,
)

__all__ = ["PigeonChannel", "PigeonSettings", "connect", "mount"]

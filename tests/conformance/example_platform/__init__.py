"""Pigeon, an invented chat: a whole adapter by a third party, as small as it can be."""

from tests.conformance.example_platform.channel import PigeonChannel, PigeonSettings, connect
from tests.conformance.example_platform.endpoint import mount

__all__ = ["PigeonChannel", "PigeonSettings", "connect", "mount"]

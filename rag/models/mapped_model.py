"""Sessions of an ONNX model that is optimized once and then mapped into memory from files.

Optimizing all-MiniLM-L6-v2 takes 0.2 s, and its weights are 100 MB of the process's own memory. A
mapped file is read where its weights are used, and processes share what they have read. Vectors
are the same to the last bit.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import time
from pathlib import Path

import onnxruntime
import structlog

_GRAPH = "model.onnx"
_WEIGHTS = "model.weights"
_LEAST_MAPPED_BYTES = "1024"
"""Smaller tensors stay in the file of the graph."""
_UNFINISHED = "unfinished-"
_FOLDER = re.compile(r"[0-9a-f]{16}-[\d.]+-\w+")
_KEPT_SECONDS = 24 * 3600.0

log = structlog.get_logger(__name__)


def open_session(
    weights: Path, cache: Path | None, *, fingerprint: str
) -> onnxruntime.InferenceSession:
    """Open a model, optimized in a folder of ``cache``, which is created if it is missing.

    ``fingerprint`` names the model's content; with another one, another onnxruntime or another
    kind of processor, the model is optimized again. A folder that cannot be read is replaced, and
    if none can be written (or ``cache`` is None), the model is optimized in memory. What a folder
    holds is trusted, as the index is: only its owner may write there.
    """
    if cache is not None:
        folder = cache / f"{fingerprint}-{onnxruntime.__version__}-{platform.machine()}"
        try:
            session = _mapped(folder)
            if session is None:
                _store(weights, folder)
                session = _mapped(folder)
        except OSError as error:
            log.warning("model.cache_unusable", folder=str(folder), error=str(error))
            session = None
        if session is not None:
            return session
    return _session(weights, _options())


def _mapped(folder: Path) -> onnxruntime.InferenceSession | None:
    if not folder.exists():
        return None
    options = _options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return _session(folder / _GRAPH, options)
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no base of their own
        log.warning("model.cache_unreadable", folder=str(folder), error=str(error))
        shutil.rmtree(folder, ignore_errors=True)
        return None


def _store(weights: Path, folder: Path) -> None:
    """Write the optimized model to a folder, at once and complete, or log why it cannot be."""
    cache = folder.parent
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=_UNFINISHED, dir=cache, ignore_cleanup_errors=True
    ) as made:
        content = Path(made) / folder.name
        content.mkdir()
        try:
            _optimize(weights, content)
            content.rename(folder)
        except Exception as error:  # noqa: BLE001 - a full disk is an error of onnxruntime's, too
            # Another process may have been first; its folder is as good.
            if not folder.exists():
                log.warning("model.cache_unwritable", folder=str(folder), error=str(error))
            return
    _remove_unused(cache, folder)


def _remove_unused(cache: Path, used: Path) -> None:
    """Remove what other versions and killed processes left, unless it is recent.

    During an upgrade servers of the last version may start once more.
    """
    for other in cache.iterdir():
        ours = other.name.startswith(_UNFINISHED) or _FOLDER.fullmatch(other.name)
        if ours and other != used and time.time() - other.stat().st_mtime > _KEPT_SECONDS:
            shutil.rmtree(other, ignore_errors=True)


def _optimize(weights: Path, folder: Path) -> None:
    """Write graph and weights, and wait until the disk has them."""
    options = _options()
    # Higher levels use instructions of this very processor, and the folder may move to another.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / _GRAPH)
    initializers = "session.optimized_model_external_initializers"
    options.add_session_config_entry(f"{initializers}_file_name", _WEIGHTS)
    options.add_session_config_entry(f"{initializers}_min_size_in_bytes", _LEAST_MAPPED_BYTES)
    _session(weights, options)
    for name in (_GRAPH, _WEIGHTS):
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())


def _session(model: Path, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _options() -> onnxruntime.SessionOptions:
    """Return options for one thread per call.

    Calls run in parallel, and no onnxruntime thread pool spins while others need the CPU.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return options

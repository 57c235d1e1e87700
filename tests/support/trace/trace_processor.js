// Runs the Perfetto UI's trace processor (engine_bundle.js and its WebAssembly, in the folder that is the argument)
// under Node: bytes of the trace processor's RPC protocol come in on stdin and go out on stdout.
const fs = require("fs"), path = require("path"), vm = require("vm");

const folder = process.argv[2];
console.log = console.warn = (...text) => process.stderr.write(text.join(" ") + "\n");

class FileRequest {  // the module loads its .wasm with an XMLHttpRequest
  open(method, url) { this.file = path.join(folder, path.basename(url)); }
  send() {
    const data = fs.readFileSync(this.file);
    this.response = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
  }
}

const worker = {  // what a web worker sees
  console, TextDecoder, TextEncoder, URL, setTimeout, crypto, performance, XMLHttpRequest: FileRequest,
  WorkerGlobalScope: function () {}, importScripts() {}, location: {href: "file:///engine_bundle.js"},
};
worker.self = worker.globalThis = worker;
vm.createContext(worker);
vm.runInContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), worker);

const copy = vm.runInContext("(bytes) => Uint8Array.from(bytes)", worker);
const port = {postMessage(bytes) { fs.writeSync(1, Buffer.from(bytes)); }};
setTimeout(() => {  // after the module's initialisation
  worker.onmessage({data: port});
  process.stdin.on("data", (chunk) => port.onmessage({data: copy(chunk)}));
}, 0);

import { loadPyodide } from "./pyodide/pyodide.mjs";
// Python in a worker: [id, name, arguments] comes in, [id, JSON] goes out; see in_browser/calls.py.
// A policy may come from a link. Before it runs, Python has lost its way to the browser, and the
// worker all that could ask a network. The worker's content policy is the page's: see page.mjs.
const ASKS = ("fetch XMLHttpRequest WebSocket WebSocketStream WebTransport EventSource importScripts Worker" +
  " FontFace indexedDB caches navigator BroadcastChannel Request Response Notification").split(" ");
const none = () => { throw new Error("a policy has no browser"); };
const jsglobals = { eval: none, Object, setTimeout, clearTimeout, setInterval, clearInterval };
const ready = (async () => {
  const py = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href, jsglobals });
  const zip = await (await fetch(new URL("./course.zip", import.meta.url))).arrayBuffer();
  py.unpackArchive(zip, "zip", { extractDir: "/course" });
  py.runPython("import sys; sys.path.insert(0, '/course')");
  const { call } = py.pyimport("minibatch.course.site.in_browser.calls");
  for (const name of ["js", "pyodide_js"]) py.unregisterJsModule(name);
  py.runPython("for name in [n for n in sys.modules if n.split('.')[0] in ('js', 'pyodide_js', 'pyodide')]: del sys.modules[name]");
  for (const name of ASKS) for (let at = self; at; at = Object.getPrototypeOf(at)) Reflect.deleteProperty(at, name);
  return call;
})();
onmessage = async ({ data: [id, name, args] }) => {
  const answer = ready.then((call) => call(name, JSON.stringify(args)));
  postMessage([id, await answer.catch((error) => JSON.stringify({ error: `Python did not start: ${error.message}` }))]);
};

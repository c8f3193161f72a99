// A JupyterLab extension that only adds page.css. JupyterLab asks it for its modules by name; see
// "prebuilt extensions" in JupyterLab's documentation.
(() => {
  const style = new URL("page.css", document.currentScript.src).href;
  const modules = {
    "./extension": () => ({ __esModule: true, default: [] }),
    "./style": () => {
      const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: style });
      document.head.append(link);
      return {};
    },
  };
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB["minibatch-page"] = {
    init: () => undefined,
    get: (name) => Promise.resolve(modules[name]),
  };
})();

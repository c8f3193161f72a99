// A page with a policy and "Run". Python is loaded by "Run", and ends with its worker: at "Stop", at
// the limit, or at the next "Run".
import { editorFor } from "./editor.mjs";
const WORKER = JSON.stringify(new URL("worker.mjs", import.meta.url).href);
const form = document.querySelector("form.play");
const editor = editorFor(form.elements.policy);
const { run, stop, policy } = form.elements;
const said = document.querySelector("#said");
const shown = document.querySelector("#shown");
let end, worker;

// A worker made of a blob has the content policy of this page on every host: no other host is asked.
const python = () => {
  const url = URL.createObjectURL(new Blob([`import ${WORKER};`], { type: "text/javascript" }));
  worker?.terminate();
  worker = new Worker(url, { type: "module" });
  const asked = [];
  worker.onmessage = ({ data: [id, answer] }) => {
    const { result, error } = JSON.parse(answer);
    error ? asked[id].reject(new Error(error)) : asked[id].resolve(result);
  };
  const failed = new Promise((_, reject) => (worker.onerror = (error) => reject(new Error(`Python did not start: ${error.message}`))));
  const ask = (name, args) => Promise.race([failed, new Promise((resolve, reject) => worker.postMessage([asked.push({ resolve, reject }) - 1, name, args]))]);
  return ask;
};

// What comes from a policy's process is a picture: it cannot lead the reader elsewhere.
export const show = (html, place = shown) => {
  const made = new DOMParser().parseFromString(html, "text/html");
  made.querySelectorAll("meta, base, link, script, iframe, object, embed, form, a, area, animate, set").forEach((each) => each.remove());
  place.replaceChildren(...made.body.childNodes);
};
export const say = (words) => (said.textContent = words);

// play(ask): asks Python, shows, and returns the last words.
export const page = (limit_s, play) => {
  const link = new URLSearchParams(location.hash.slice(1));
  const linked = link.get("policy");
  const numbers = [...form.querySelectorAll("input[type=number]")];
  for (const each of numbers) if (link.get(each.name)) each.value = link.get(each.name); // a text that is no number empties it
  if (linked) {
    editor.setOptions({ value: linked }); // shown, and not run before the reader asks for it
    form.elements.shipped.value = "";
    say("This policy came with the link. Read it before you run it.");
  }
  form.hidden = false;
  document.querySelector("#still").hidden = true;
  for (const menu of form.querySelectorAll("select[data-fills]")) {
    const field = form.elements[menu.dataset.fills];
    const fill = (value) => (field === policy ? editor.setOptions({ value }) : (field.value = value));
    menu.addEventListener("change", () => menu.value && fill(menu.value));
    field.addEventListener("input", () => (menu.value = "")); // now it is your own
    const shipped = !linked && [...menu.options].find((each) => each.value && each.text === link.get(menu.name));
    if (shipped) fill((menu.value = shipped.value));
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const settings = Object.fromEntries(numbers.map((each) => [each.name, each.value]));
    history.replaceState(null, "", "#" + new URLSearchParams({ policy: policy.value, ...settings }));
    stop.disabled = !(run.disabled = true);
    say("Python is loading, and then your policy runs.");
    const ask = python();
    const ended = new Promise((resolve) => {
      end = (words) => {
        worker.onmessage = null;
        worker.terminate();
        resolve(words);
      };
    });
    const limit = setTimeout(() => end(`Stopped: it took more than ${limit_s} seconds.`), limit_s * 1000);
    say(await Promise.race([ended, play(ask).catch((error) => error.message)]));
    clearTimeout(limit);
    stop.disabled = !(run.disabled = false);
  });
  stop.addEventListener("click", () => end("Stopped."));
};

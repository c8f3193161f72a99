import { page, show } from "./page.mjs";
const { policy, against, own, slots, window: seconds, budget, num_blocks } = document.querySelector("form.play").elements;
const steps = document.querySelector("form.steps");
const { step, view } = steps.elements;
let ask, drawing, again;

// One step at a time: while Python draws, only the newest place of the slider is remembered.
const draw = async () => {
  again = true;
  if (drawing) return;
  drawing = true;
  while (again) {
    again = false;
    const drawn = await ask("frame", { position: Number(step.value), view: view.value });
    steps.querySelectorAll("div.drawn").forEach((place, n) => show(drawn[n], place)); // a line, a picture
  }
  drawing = false;
};
steps.addEventListener("input", draw);
steps.addEventListener("submit", (event) => event.preventDefault());

page(60, async (asking) => {
  show("");
  steps.hidden = true;
  drawing = false;
  ask = asking;
  const asked = { traffic: null, own: own.value, policy: policy.value, against: against.value };
  const set = { slots, window: seconds, budget, num_blocks };
  for (const name in set) asked[name] = Number(set[name].value);
  const played = await ask("play", asked);
  show(played.html);
  step.value = 0;
  step.max = played.last;
  steps.hidden = false;
  await draw();
  return Object.entries(played.steps).map(([name, n]) => `${name}: ${n} steps`).join("; ");
});

import { page, show, say } from "./page.mjs";
const { policy } = document.querySelector("form.play").elements;
page(240, async (ask) => {
  show("");
  const number = await ask("arena", { policy: policy.value });
  for (let n = 0; n < number; n++) {
    say(`Match ${n + 1} of ${number}`);
    await ask("match", { number: n });
  }
  const { html, line } = await ask("score", {});
  show(html);
  return line;
});

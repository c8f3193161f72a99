import { page, show } from "./page.mjs";
const { policy } = document.querySelector("form.play").elements;
page(60, async (ask) => {
  show("");
  const { html, line } = await ask("cases", { policy: policy.value });
  show(html);
  return line;
});

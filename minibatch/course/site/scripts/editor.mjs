import { createEditor } from "./editor/dist/index.js";
import { defaultCommands, setIgnoreTab } from "./editor/dist/extensions/commands/index.js";
import "./editor/dist/prism/languages/python.js";
import "./editor/dist/languages/python.js";
setIgnoreTab(true); // the Tab key leaves the field; Ctrl+M makes it indent

// Replaces a text area by one that colours and indents Python, with the same id, name and text.
export const editorFor = (field) => {
  const editor = createEditor(null, { language: "python", tabSize: 4, insertSpaces: true, value: field.value }, defaultCommands());
  const { id, name } = field;
  field.replaceWith(editor.container);
  Object.assign(editor.textarea, { id, name, autocomplete: "off", spellcheck: false });
  return editor;
};

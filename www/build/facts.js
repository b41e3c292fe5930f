/** What the page says of itself: its version, the commit, and where its code and the page are. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * `cargo xtask build --repository URL --page URL` sets the last two.
 * @typedef {object} Facts
 * @property {string} version
 * @property {string} commit empty if the source is no repository
 * @property {string} date of the commit
 * @property {string} repository where the code is; empty if it was not said
 * @property {string} site where the page will be, ending with a slash; empty if it was not said
 */

/** @returns {Facts} */
export function facts({ REPOSITORY_URL: repository = "", PAGE_URL: site = "" } = process.env) {
  const cargo = readFileSync(new URL("../../Cargo.toml", import.meta.url), "utf8");
  return {
    version: /^version = "([^"]+)"/m.exec(cargo)?.[1] ?? "",
    commit: git(["rev-parse", "--short=10", "HEAD"]),
    date: git(["show", "-s", "--format=%cs", "HEAD"]),
    repository,
    site: site === "" ? "" : site.replace(/\/*$/, "/"),
  };
}

/** @param {string[]} args */
function git(args) {
  try {
    const cwd = new URL("..", import.meta.url);
    return execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}

/**
 * `{{name}}` stands for a fact, `<!-- if name -->…<!-- /if -->` for its contents if there is such a fact.
 * @param {string} html
 * @param {Facts} known
 */
export function fillIn(html, known) {
  /** @param {string} name */
  const fact = (name) => {
    if (!(name in known)) throw new Error(`There is no fact called “${name}”`);
    return escapeHtml(known[/** @type {keyof Facts} */ (name)]);
  };
  return html
    .replace(/<!-- if (\w+) -->([\s\S]*?)<!-- \/if -->/g, (_, name, block) => (fact(name) ? block : ""))
    .replace(/\{\{(\w+)\}\}/g, (_, name) => fact(name));
}

/**
 * Every figure with the address of the file that draws it, if it is known where the code is.
 * @param {string} html
 * @param {Facts} known
 */
export const linkSources = (html, { repository, commit }) =>
  repository
    ? html.replace(/<figure\b[^>]* data-figure="([\w-]+)"/g, (tag, name) => {
        const file = `blob/${commit || "HEAD"}/www/src/figures/${name}.js`;
        return `${tag} data-source="${escapeHtml(`${repository.replace(/\/*$/, "")}/${file}`)}"`;
      })
    : html;

/** @param {string} text */
const escapeHtml = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

/** The table of contents and the links of headings, made from the headings of the article. */

/** A heading of the text, not of a figure: its level, attributes and contents. */
const HEADING = /<(h2|h3)\b((?=[^>]*\bid="|[^>]*\bclass="text-head)[^>]*)>([\s\S]*?)<\/\1>/g;

/**
 * Give every heading of the text a name and a link to itself, and put the table of contents where `<!-- contents -->` is.
 * @param {string} html
 */
export function linkHeadings(html) {
  /** @type {string[]} */
  const entries = [];
  const linked = html.replace(HEADING, (_, tag, attributes, inner, at) => {
    const id = /\bid="([^"]+)"/.exec(attributes)?.[1] ?? slug(inner);
    const message = /\bdata-message="([^"]+)"/.exec(attributes)?.[1];
    const rest = attributes.replace(/ (id|data-message)="[^"]*"/g, "");
    if (tag === "h2") entries.push(entry(id, inner, message));
    // Readers without a mouse have the table of contents. What unfolds on a click cannot hold a link.
    const link = html.slice(0, at).endsWith("<summary>")
      ? ""
      : ` <a class="section-link" href="#${id}" title="Link to this section" tabindex="-1" aria-hidden="true">§</a>`;
    return `<${tag} id="${id}"${rest}>${inner}${link}</${tag}>`;
  });
  return linked.replace("<!-- contents -->", () => entries.join("\n"));
}

/** @param {string} id @param {string} inner @param {string} [message] */
const entry = (id, inner, message) =>
  `<li><a href="#${id}">${inner.trim()}${message ? ` <small>${message}</small>` : ""}</a></li>`;

/** @param {string} inner */
const slug = (inner) =>
  inner
    .replace(/<annotation[\s\S]*?<\/annotation>|<[^>]+>/g, " ")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

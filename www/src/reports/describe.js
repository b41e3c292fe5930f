/** Which networks a report is about, in words. */
import { count } from "../ui/format.js";

/** @import { Report } from "./report.js" */

/** What the images of a set are called in a sentence. @type {Record<string, string>} */
const IMAGES = {
  faces: "drawn faces",
  patches: "patches of photographs",
  mnist: "MNIST digits",
  fashion: "Fashion-MNIST images",
  cifar10: "CIFAR-10 photographs",
};

/** The images of a report, in a few words. @param {Pick<Report, "data" | "shape">} report */
export const imagesOf = ({ data, shape }) =>
  `${IMAGES[data.set] ?? data.set} of ${shape.height} × ${shape.width} pixels${shape.channels > 1 ? " in colour" : ""}`;

/** The networks of a report, in a few words. @param {any} train @param {boolean} [bare] without their width */
export const kindOf = ({ architecture }, bare = false) =>
  architecture.kind === "unet" ? "U-Nets" : bare ? "MLPs" : `MLPs of width ${count(architecture.width)}`;

/** What was trained, in a few words. @param {Pick<Report, "config" | "data" | "shape">} report */
export const describe = (report) => {
  const { train } = report.config;
  return `${kindOf(train)} on ${imagesOf(report)}, ${count(train.steps)} steps in batches of ${count(train.batch)}`;
};

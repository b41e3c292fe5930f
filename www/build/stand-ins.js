/**
 * Stand in the bundle for functions of Observable Plot that no chart here needs, see `leave-out.js`. Those that Plot calls
 * for every chart say that this one has no legend, no map and so on; the others are errors.
 */

/** @param {string} what */
const leftOut = (what) => () => {
  throw new Error(`the page's charts have no ${what}, see www/build/stand-ins.js`);
};
const nothing = () => {};
/** The options of a mark, as they are. @param {object} [options] */
const same = (options = {}) => options;

// legends.js
export const createLegends = () => [];
export const exposeLegends = nothing;

// marks/tip.js and interactions/pointer.js
export const tip = leftOut("tips");
export const pointer = leftOut("pointers");
export const pointerX = pointer;
export const pointerY = pointer;

// marker.js: what a line has at its ends
export const markers = nothing;
export const applyMarkers = nothing;
export const applyGroupedMarkers = nothing;

// projection.js
export const hasProjection = () => false;
export const createProjection = nothing;
export const projectionAspectRatio = nothing;
export const getGeometryChannels = leftOut("maps");
export const project = getGeometryChannels;
export const xyProjection = getGeometryChannels;

// transforms/bin.js, group.js and stack.js: bars and areas have a `y1` and a `y2`
export const maybeDenseIntervalX = same;
export const maybeDenseIntervalY = same;
export const maybeStackX = same;
export const maybeStackY = same;
export const maybeReduce = leftOut("groups");

// time.js and scales/temporal.js
export const createScaleTime = leftOut("dates");
export const createScaleUtc = createScaleTime;
export const timeInterval = createScaleTime;
export const utcInterval = createScaleTime;
export const generalizeTimeInterval = createScaleTime;
export const intervalDuration = createScaleTime;
export const inferTimeFormat = createScaleTime;

// scales/diverging.js
export const createScaleDiverging = leftOut("diverging scales");
export const createScaleDivergingSqrt = createScaleDiverging;
export const createScaleDivergingPow = createScaleDiverging;
export const createScaleDivergingLog = createScaleDiverging;
export const createScaleDivergingSymlog = createScaleDiverging;

// scales/schemes.js: marks without data have a scale of colours, which nobody asks for one
export const isDivergingScheme = () => false;
export const isCategoricalScheme = () => false;
export const quantitativeScheme = () => nothing;
export const ordinalScheme = () => () => [];
export const ordinalRange = () => [];
export const maybeBooleanRange = nothing;

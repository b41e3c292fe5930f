//! `Exact`: the denoisers that need no training, side by side (Section I).

use std::collections::BTreeMap;

use js_sys::Object;
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use super::dataset::{Dataset, Part};
use super::engine::Engine;
use super::{JsResult, Seed, fields, floats, options, parse, set, whole};
use crate::denoiser::DenoiserId;
use crate::experiment::exact;
use crate::sampler::{Method, NoiseSchedule, Sampler};

/// Every denoiser that is fitted to the first `n` training images.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Exact {
    inner: exact::Exact,
}

/// Which image to denoise; `data` stands beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DenoiseOptions {
    split: Part,
    image: usize,
    sigma: f32,
    seed: Seed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrajectoryOptions {
    steps: usize,
    method: Method,
    seed: Seed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplesOptions {
    count: usize,
    seed: Seed,
}

/// `{id: value, …}`.
fn by_id<T>(map: &BTreeMap<DenoiserId, T>, value: impl Fn(&T) -> JsValue) -> JsValue {
    let object = Object::new();
    for (id, one) in map {
        set(&object, id.name(), &value(one));
    }
    object.into()
}

#[wasm_bindgen]
impl Exact {
    /// Fits the denoisers.
    pub async fn fit(engine: &Engine, data: &Dataset, n: usize) -> JsResult<Self> {
        Ok(Self { inner: exact::Exact::fit(&engine.inner, &data.split, n).await? })
    }

    /// Adds noise to an image of `data` and denoises it with each denoiser.
    #[wasm_bindgen(unchecked_return_type = "Denoised")]
    pub async fn denoise(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "DenoiseOptions")] o: JsValue,
    ) -> JsResult<JsValue> {
        let (data, rest) = options::<Dataset>(&o, "data")?;
        let DenoiseOptions { split, image, sigma, seed } = parse(rest)?;
        let clean = data.image(split, image)?.to_vec();
        drop(data);
        let d = self.inner.denoise(&clean, sigma, seed.0).await?;
        let posterior = fields(&[
            ("weights", floats(&d.posterior.weights)),
            ("indices", whole(&d.posterior.indices)),
            ("effective", d.posterior.effective.into()),
        ]);
        Ok(fields(&[
            ("clean", floats(&clean)),
            ("noisy", floats(&d.noisy)),
            ("denoisers", by_id(&d.denoisers, |image| floats(image))),
            ("posterior", posterior),
        ]))
    }

    /// The paths of the denoisers from the same noise to an image, with noise levels 80 … 0.002.
    #[wasm_bindgen(unchecked_return_type = "Trajectories")]
    pub async fn trajectory(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "TrajectoryOptions")] o: JsValue,
    ) -> JsResult<JsValue> {
        let TrajectoryOptions { steps, method, seed } = parse(o)?;
        let sampler = Sampler { schedule: NoiseSchedule::edm(steps, 0.002, 80.0, 7.0)?, method };
        let sampled = self.inner.sample(&sampler, 1, seed.0).await?;
        let path = |s: &exact::Sampled| {
            let nearest = fields(&[
                ("index", s.nearest.index[0].into()),
                ("d1", s.nearest.d1[0].into()),
                ("d2", s.nearest.d2[0].into()),
            ]);
            fields(&[
                ("x", floats(&s.x.concat())),
                ("d", floats(&s.denoised.concat())),
                ("nearest", nearest),
            ])
        };
        Ok(fields(&[
            ("sigmas", floats(sampler.schedule.sigmas())),
            ("denoisers", by_id(&sampled, path)),
        ]))
    }

    /// Samples of the denoisers from the same noise (the paper's 10 Euler steps), and how close they
    /// come to the training set.
    #[wasm_bindgen(unchecked_return_type = "Samples")]
    pub async fn samples(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "SamplesOptions")] o: JsValue,
    ) -> JsResult<JsValue> {
        let SamplesOptions { count, seed } = parse(o)?;
        let sampled = self.inner.sample(&Sampler::paper(), count, seed.0).await?;
        let held_out = self.inner.held_out_closeness(count).await?;
        let set = |s: &exact::Sampled| {
            let closeness = &s.nearest.closeness;
            fields(&[
                ("images", floats(s.end())),
                ("nearest", whole(&s.nearest.index)),
                ("d1", floats(&s.nearest.d1)),
                ("d2", floats(&s.nearest.d2)),
                ("gl", closeness.gl.mean.into()),
                ("glSquared", closeness.gl_squared.mean.into()),
                ("memorized", closeness.memorized.mean.into()),
            ])
        };
        Ok(fields(&[
            ("denoisers", by_id(&sampled, set)),
            ("heldOut", fields(&[("gl", held_out.gl.mean.into())])),
        ]))
    }
}

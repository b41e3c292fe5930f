//! `Exact`: the denoisers that need no training, side by side (Section I).

use std::collections::BTreeMap;

use js_sys::{Function, Object};
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use super::dataset::{Dataset, Part};
use super::engine::Engine;
use super::{JsResult, Seed, fields, floats, options, parse, set, whole};
use crate::denoiser::{DenoiserId, GaussianFit};
use crate::error::{Error, Result};
use crate::experiment::exact;
use crate::sampler::Sampler;

/// Every denoiser that is fitted to the first `n` training images.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Exact {
    inner: exact::Exact,
    /// The samples that were drawn last, with their number and seed: paths of single samples follow.
    drawn: Option<(usize, u64, BTreeMap<DenoiserId, exact::Sampled>)>,
}

impl Exact {
    /// Draws samples with the paper's 10 Euler steps, unless these were the last.
    async fn draw(
        &mut self,
        count: usize,
        seed: u64,
    ) -> Result<&BTreeMap<DenoiserId, exact::Sampled>> {
        let known = self.drawn.take().filter(|drawn| (drawn.0, drawn.1) == (count, seed));
        let drawn = match known {
            Some(drawn) => drawn,
            None => (count, seed, self.inner.sample(&Sampler::paper(), count, seed).await?),
        };
        Ok(&self.drawn.insert(drawn).2)
    }
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
struct SamplesOptions {
    count: usize,
    seed: Seed,
}

/// One of the samples, whose path is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathOptions {
    count: usize,
    seed: Seed,
    index: usize,
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
    /// Fits the denoisers. `progress` is called with the fraction that is done; `gaussian` is what
    /// [`gaussian`](Self::gaussian) gave for the same images.
    pub async fn fit(
        engine: &Engine,
        data: &Dataset,
        n: usize,
        #[wasm_bindgen(unchecked_param_type = "((fraction: number) => void) | undefined")]
        progress: Option<Function>,
        gaussian: Option<Vec<u8>>,
    ) -> JsResult<Self> {
        let known = gaussian.map(|bytes| GaussianFit::from_bytes(&bytes)).transpose()?;
        let tell = |fraction: f64| {
            if let Some(progress) = &progress {
                // What the page makes of it does not stop the fit.
                drop(progress.call1(&JsValue::NULL, &fraction.into()));
            }
        };
        let inner = exact::Exact::fit_with(&engine.inner, &data.split, n, known, tell).await?;
        Ok(Self { inner, drawn: None })
    }

    /// The fit of D_G as bytes, for a cache.
    #[must_use]
    pub fn gaussian(&self) -> Option<Vec<u8>> {
        self.inner.gaussian().map(GaussianFit::to_bytes)
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

    /// The path of one of the samples that [`samples`](Self::samples) draws, from noise to image, for each
    /// denoiser.
    #[wasm_bindgen(unchecked_return_type = "Paths")]
    pub async fn path(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "PathOptions")] o: JsValue,
    ) -> JsResult<JsValue> {
        let PathOptions { count, seed, index } = parse(o)?;
        if index >= count {
            let message = format!("There is no sample {index} of {count}");
            return Err(Error::bad_input(message, "Choose one of the samples shown").into());
        }
        let sampled = self.draw(count, seed.0).await?;
        let path = |s: &exact::Sampled| {
            let one = |levels: &[Vec<f32>]| {
                let rows = levels.iter().map(|level| {
                    let dim = level.len() / count;
                    &level[index * dim..(index + 1) * dim]
                });
                floats(&rows.collect::<Vec<_>>().concat())
            };
            let nearest = fields(&[
                ("index", s.nearest.index[index].into()),
                ("d1", s.nearest.d1[index].into()),
                ("d2", s.nearest.d2[index].into()),
            ]);
            fields(&[("x", one(&s.x)), ("d", one(&s.denoised)), ("nearest", nearest)])
        };
        Ok(fields(&[
            ("sigmas", floats(Sampler::paper().schedule.sigmas())),
            ("denoisers", by_id(sampled, path)),
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
        let held_out = self.inner.held_out_closeness(count).await?;
        let sampled = self.draw(count, seed.0).await?;
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
            ("denoisers", by_id(sampled, set)),
            ("heldOut", fields(&[("gl", held_out.gl.mean.into())])),
        ]))
    }
}

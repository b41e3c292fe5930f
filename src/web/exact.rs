//! `Exact`: D_M and D_G, side by side (Section I).

use wasm_bindgen::prelude::*;

use super::dataset::Dataset;
use super::engine::Engine;
use super::{JsResult, Options, fields, floats, seed, whole};
use crate::experiment::exact;
use crate::sampler::{Method, Sampler, Schedule};

/// D_M (eq. 4) and D_G (eq. 7) of the first `n` training images.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Exact {
    inner: exact::Exact,
}

#[wasm_bindgen]
impl Exact {
    /// Fits both denoisers.
    pub async fn fit(engine: &Engine, data: &Dataset, n: usize) -> JsResult<Self> {
        Ok(Self { inner: exact::Exact::fit(&engine.inner, &data.split, n).await? })
    }

    /// Adds noise to an image of `data` and denoises it with both.
    #[wasm_bindgen(unchecked_return_type = "Denoised")]
    pub async fn denoise(
        &mut self,
        data: &Dataset,
        split: String,
        image: usize,
        sigma: f32,
        noise: f64,
    ) -> JsResult<JsValue> {
        let clean = data.image(&split, image)?;
        let d = self.inner.denoise(clean, sigma, seed(noise)?).await?;
        Ok(fields(&[
            ("clean", floats(clean)),
            ("noisy", floats(&d.noisy)),
            ("empirical", floats(&d.empirical)),
            ("gaussian", floats(&d.gaussian)),
            ("weights", floats(&d.weights)),
            ("indices", whole(&d.indices)),
            ("effective", d.effective.into()),
        ]))
    }

    /// The ways of both denoisers from the same noise to an image, with the noise levels 80 … 0.002.
    #[wasm_bindgen(unchecked_return_type = "Trajectories")]
    pub async fn trajectory(
        &mut self,
        #[wasm_bindgen(
            unchecked_param_type = "{steps: number, method: 'euler' | 'heun', seed: number}"
        )]
        o: JsValue,
    ) -> JsResult<JsValue> {
        let o = Options(&o);
        let schedule = Schedule::edm(o.whole("steps")?, 0.002, 80.0, 7.0)?;
        let method = if o.get("method") == "heun" { Method::Heun } else { Method::Euler };
        let sampler = Sampler { schedule, method };
        let [empirical, gaussian] = self.inner.sample(&sampler, 1, o.seed()?).await?;
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
            ("empirical", path(&empirical)),
            ("gaussian", path(&gaussian)),
        ]))
    }

    /// Samples of both denoisers from the same noise (the paper's 10 Euler steps), and how close
    /// they come to the training set.
    #[wasm_bindgen(unchecked_return_type = "Samples")]
    pub async fn samples(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "{count: number, seed: number}")] o: JsValue,
    ) -> JsResult<JsValue> {
        let (count, seed) = (Options(&o).whole("count")?, Options(&o).seed()?);
        let [empirical, gaussian] = self.inner.sample(&Sampler::paper(), count, seed).await?;
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
            ("empirical", set(&empirical)),
            ("gaussian", set(&gaussian)),
            ("heldOutGl", held_out.gl.mean.into()),
        ]))
    }
}

//! What a shard has done: all of it, or enough to go on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::{Piece, Plan, hash};
use crate::error::{Error, Result};
use crate::serial;

/// What a shard found. It says nothing about when, how fast or in how many attempts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShardResult {
    /// The hash of the plan.
    pub plan: String,
    /// Which shard.
    pub shard: usize,
    /// Its pieces, in the plan's order.
    pub pieces: Vec<PieceResult>,
}

/// What a piece found.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PieceResult {
    /// Which piece.
    pub piece: Piece,
    /// The engine that computed it.
    pub engine: String,
    /// The name of the GPU, if it was one.
    pub adapter: Option<String>,
    /// The noise levels over which lists run.
    pub sigmas: Vec<f64>,
    /// The findings, as the report has them.
    pub findings: Value,
}

impl PieceResult {
    /// Takes from a report what does not change from run to run.
    pub fn new(piece: Piece, report: &dyn erased_serde::Serialize) -> Result<Self> {
        #[derive(Deserialize)]
        struct Report {
            engine: String,
            adapter: Option<String>,
            sigmas: Vec<f64>,
            findings: Value,
        }
        let Report { engine, adapter, sigmas, findings } =
            serial::parse(&serial::to_json(&report)?)?;
        Ok(Self { piece, engine, adapter, sigmas, findings })
    }
}

impl ShardResult {
    /// Reads the result of shard `index` of `plan`.
    pub fn parse(text: &[u8], plan: &Plan, index: usize) -> Result<Self> {
        let result: Self = serde_json::from_slice(text).map_err(|error| {
            let message = format!("The result of shard {index} is damaged: {error}");
            Error::bad_input(message, "Move the file away and run the shard again")
        })?;
        check(plan, index, &result.plan, result.shard, &result.pieces)?;
        if result.pieces.len() != plan.shards[index].pieces.len() {
            return Err(foreign());
        }
        Ok(result)
    }

    /// The file.
    pub fn to_json(&self) -> Result<String> {
        serial::to_json(self)
    }
}

/// Where a shard stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checkpoint {
    /// The hash of the plan.
    pub plan: String,
    /// Which shard.
    pub shard: usize,
    /// How long it has computed so far, in all attempts.
    pub seconds: f64,
    /// The pieces that are done.
    pub done: Vec<PieceResult>,
    /// A snapshot of the run of the next piece, if it has begun.
    #[serde(skip)]
    pub snapshot: Option<Vec<u8>>,
}

/// How a checkpoint begins. Then come a hash of the header as text, the header as a line of JSON, and
/// the snapshot, which has a checksum of its own.
const MAGIC: &str = "hidden-gaussian shard 1";

impl Checkpoint {
    /// The file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = serial::to_json(self)?;
        let head = format!("{MAGIC}\n{}\n{header}\n", hash(header.bytes()));
        Ok([head.as_bytes(), self.snapshot.as_deref().unwrap_or_default()].concat())
    }

    /// Reads a checkpoint of shard `index` of `plan`; anything may stand in it.
    pub fn from_bytes(bytes: &[u8], plan: &Plan, index: usize) -> Result<Self> {
        let mut parts = bytes.splitn(4, |&byte| byte == b'\n');
        let mut next = || parts.next();
        let parts = (|| Some([next()?, next()?, next()?, next()?]))();
        let [magic, sum, header, snapshot] = parts.ok_or_else(damaged)?;
        let whole = magic == MAGIC.as_bytes() && sum == hash(header.iter().copied()).as_bytes();
        if !whole {
            return Err(damaged());
        }
        let mut checkpoint: Self = serde_json::from_slice(header).map_err(|_| damaged())?;
        check(plan, index, &checkpoint.plan, checkpoint.shard, &checkpoint.done)?;
        checkpoint.snapshot = (!snapshot.is_empty()).then(|| snapshot.to_vec());
        Ok(checkpoint)
    }
}

/// Refuses what is not of shard `index` of `plan`.
fn check(
    plan: &Plan,
    index: usize,
    hash: &str,
    shard: usize,
    pieces: &[PieceResult],
) -> Result<()> {
    let planned = plan.shards.get(index).map_or(&[][..], |shard| &shard.pieces);
    let same = planned.iter().zip(pieces).all(|(planned, piece)| *planned == piece.piece);
    if hash != plan.hash || shard != index || !same || pieces.len() > planned.len() {
        return Err(foreign());
    }
    Ok(())
}

fn foreign() -> Error {
    Error::bad_input(
        "The file belongs to another plan or shard",
        "Move it away, or give each plan a folder of its own",
    )
}

fn damaged() -> Error {
    Error::bad_input("The checkpoint is damaged", "Move it away to begin the shard anew")
}

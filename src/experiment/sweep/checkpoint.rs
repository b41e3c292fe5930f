//! The state of a shard: its result, or a checkpoint to resume from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::{Piece, Plan, hash};
use crate::error::{Error, Result};
use crate::serial;

/// The result of a shard. It does not depend on when, how fast or in how many attempts it was computed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShardResult {
    /// Hash of the plan.
    pub plan: String,
    /// Index of the shard.
    pub shard: usize,
    /// The results of its pieces, in the plan's order.
    pub pieces: Vec<PieceResult>,
}

/// The result of a piece.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PieceResult {
    /// The piece that was computed.
    pub piece: Piece,
    /// The engine that computed it.
    pub engine: String,
    /// The name of the GPU, if any.
    pub adapter: Option<String>,
    /// The noise levels over which lists run.
    pub sigmas: Vec<f64>,
    /// The findings, as in the report.
    pub findings: Value,
}

impl PieceResult {
    /// Takes from a report everything that does not vary between runs.
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

    /// Encodes the result as a file.
    pub fn to_json(&self) -> Result<String> {
        serial::to_json(self)
    }
}

/// A checkpoint of a shard, to resume from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checkpoint {
    /// Hash of the plan.
    pub plan: String,
    /// Index of the shard.
    pub shard: usize,
    /// How long the shard has computed so far, over all attempts.
    pub seconds: f64,
    /// The results of the completed pieces.
    pub done: Vec<PieceResult>,
    /// A snapshot of the run of the next piece, if it has started.
    #[serde(skip)]
    pub snapshot: Option<Vec<u8>>,
}

/// The first line of a checkpoint. Then follow a hash of the header as text, the header as a line of JSON,
/// and the snapshot, which has a checksum of its own.
const MAGIC: &str = "hidden-gaussian shard 1";

impl Checkpoint {
    /// Encodes the checkpoint as a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = serial::to_json(self)?;
        let head = format!("{MAGIC}\n{}\n{header}\n", hash(header.bytes()));
        Ok([head.as_bytes(), self.snapshot.as_deref().unwrap_or_default()].concat())
    }

    /// Reads a checkpoint of shard `index` of `plan` from a file whose content may be arbitrary.
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

/// Refuses a file that does not belong to shard `index` of `plan`.
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
    Error::bad_input("The checkpoint is damaged", "Move it away to start the shard again")
}

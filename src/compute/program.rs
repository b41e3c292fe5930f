//! A computation as data: buffers, and routines made of stages.
//!
//! Recording checks everything that can be checked — extents, aliasing, limits — so that a recorded
//! program runs on either engine without a branch for "what if".
//!
//! Two rules give the engines their freedom:
//! * **Members never meet.** A program holds `members` independent copies of each [`Scope::Member`]
//!   buffer and every stage works on one member at a time. The GPU puts members in the z axis of one
//!   dispatch; the CPU gives each member to a thread and runs the whole routine there.
//! * **Shared is read-only.** [`Scope::Shared`] buffers (data sets, schedules) are written by upload
//!   alone.

use std::sync::Arc;

use bytemuck::Pod;

use super::call::Call;
use super::template;
use super::tile::Tile;
use crate::error::{Error, Result};

/// Most storage buffers that one stage may bind: WebGPU's portable limit.
pub const MAX_BINDINGS: usize = 8;

/// Most 32-bit words of parameters that one stage may have.
pub const MAX_PARAMS: usize = 24;

/// How a stage uses a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The stage only reads it.
    Read,
    /// The stage reads and writes it.
    Write,
}

/// Who owns a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Each member has its own copy.
    Member,
    /// All members read the same one.
    Shared,
}

/// A kernel: the part of a stage that is the same wherever it is recorded.
///
/// Its WGSL declares `views` and `p` as uniforms 0 and 1 and its storage buffers from binding 2 on,
/// in the order of `bindings`; `tests/native/shaders_validate.rs` checks that.
#[derive(Debug)]
pub struct Kernel {
    /// The name, shared by `shaders/<name>.wgsl`, `src/kernels/<name>.rs` and the pipeline.
    pub name: &'static str,
    /// WGSL source in pieces: shared parts first.
    pub wgsl: &'static [&'static str],
    /// Fields of `struct Params` in WGSL, with their types.
    pub params: &'static [(&'static str, &'static str)],
    /// Storage bindings in order: name and access.
    pub bindings: &'static [(&'static str, Access)],
    /// The same computation on the CPU, for one member.
    pub cpu: fn(&mut Call<'_>),
}

impl Kernel {
    /// The whole WGSL module, with `constants` in front and directives expanded.
    #[must_use]
    pub fn source(&self, constants: &[(&'static str, u32)]) -> String {
        let mut source = String::new();
        for (name, value) in constants {
            source += &format!("const {name} = {value}u;\n");
        }
        for piece in self.wgsl {
            source += &template::expand(piece, constants);
        }
        source
    }
}

/// A handle of a buffer in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    pub(crate) id: usize,
    /// Elements, for one member.
    len: usize,
    scope: Scope,
}

impl Buffer {
    /// Number of elements in one member's copy.
    #[must_use]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether the buffer has no elements. Programs refuse to create such a buffer.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Who owns the buffer.
    #[must_use]
    pub const fn scope(self) -> Scope {
        self.scope
    }

    /// The part of the buffer that starts at `offset`.
    #[must_use]
    pub const fn at(self, offset: usize) -> View {
        View { buffer: self, offset }
    }
}

/// A buffer seen from an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The buffer.
    pub buffer: Buffer,
    /// Index of the first element within a member's copy.
    pub offset: usize,
}

impl View {
    /// The view that starts `offset` elements further on.
    #[must_use]
    pub const fn at(self, offset: usize) -> Self {
        Self { buffer: self.buffer, offset: self.offset + offset }
    }
}

impl From<Buffer> for View {
    fn from(buffer: Buffer) -> Self {
        buffer.at(0)
    }
}

/// A recorded buffer: its name, handle and initial contents.
#[derive(Debug, Clone)]
pub struct BufferInfo {
    /// Name for messages and GPU labels.
    pub name: String,
    /// Handle of the buffer.
    pub buffer: Buffer,
    /// Initial contents, all members in order; zeros if `None`.
    pub initial: Option<Arc<[f32]>>,
}

/// A binding of a stage: `extent` elements from the view on.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Where the binding begins.
    pub view: View,
    /// How many elements the stage may touch.
    pub extent: usize,
}

/// One dispatch.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The kernel to run.
    pub kernel: &'static Kernel,
    /// Constants compiled into this variant of the kernel.
    pub constants: Vec<(&'static str, u32)>,
    /// The parameter struct, as words.
    pub params: [u32; MAX_PARAMS],
    /// The storage bindings.
    pub bindings: Vec<Binding>,
    /// Workgroups in x and y; z is the member.
    pub workgroups: [u32; 2],
}

/// A handle of a routine in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routine(pub(crate) usize);

/// The limits of an engine, and the kernel variants that suit it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    /// Largest buffer in bytes, all members together.
    pub max_buffer_bytes: u64,
    /// Most bytes of all buffers together. A GPU reports that its memory is full only when it is.
    pub max_total_bytes: u64,
    /// Most workgroups in one dimension of a dispatch.
    pub max_workgroups: u32,
    /// Most threads of a workgroup.
    pub max_threads: u32,
    /// The matrix multiply tile that was measured to be fastest.
    pub tile: Tile,
    /// Parts into which a long sum with a small result is cut, so that all threads have work.
    pub parts: u32,
    /// Threads that share a sum where there are too few sums to keep a GPU busy.
    pub sharers: u32,
    /// Threads that share a row and synchronize to add it up.
    pub row_threads: u32,
    /// Whether a GPU in hardware is meant: its threads need others beside them while they wait for what they
    /// load.
    pub hardware: bool,
    /// Whether independent stages share a dispatch: that saves time on a GPU in hardware, but compiling
    /// takes longer.
    pub packs: bool,
    /// Members per dispatch: all of them, unless their weights should stay in a cache.
    pub members_at_once: usize,
}

impl Default for Profile {
    /// WebGPU's guaranteed limits, and the tile that is good on most adapters.
    fn default() -> Self {
        Self {
            max_buffer_bytes: 128 << 20,
            max_total_bytes: u64::MAX,
            max_workgroups: 65_535,
            max_threads: 256,
            tile: Tile::default(),
            parts: 16,
            sharers: 4,
            row_threads: 64,
            hardware: true,
            packs: true,
            members_at_once: usize::MAX,
        }
    }
}

/// Buffers and routines, ready to be loaded on an engine.
#[derive(Debug, Clone)]
pub struct Program {
    members: usize,
    profile: Profile,
    buffers: Vec<BufferInfo>,
    /// Bytes of all buffers.
    bytes: u64,
    routines: Vec<(String, Vec<Stage>)>,
    recording: bool,
}

/// The product of `sides`, or on overflow a number that every engine refuses.
pub(crate) fn elements<const N: usize>(sides: [usize; N]) -> usize {
    sides.into_iter().fold(1, usize::saturating_mul)
}

impl Program {
    /// Creates an empty program for `members` independent members, within the limits of `profile`.
    pub fn new(members: usize, profile: Profile) -> Result<Self> {
        if members == 0 {
            return Err(Error::internal("A program needs at least one member"));
        }
        check_limit("Members of one program", members, profile.max_workgroups as usize)?;
        let (buffers, routines) = (Vec::new(), Vec::new());
        Ok(Self { members, profile, buffers, bytes: 0, routines, recording: false })
    }

    /// Number of members.
    #[must_use]
    pub const fn members(&self) -> usize {
        self.members
    }

    /// Refuses to place `count` of `what` in a program with another number of members.
    pub(crate) fn check_members(&self, what: &str, count: usize) -> Result<()> {
        let members = self.members;
        if count == members {
            return Ok(());
        }
        Err(Error::internal(format!("There are {count} {what} for {members} members")))
    }

    /// The profile that the program was recorded for.
    #[must_use]
    pub const fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Gives every stage a dispatch of its own.
    pub(super) const fn unpack(&mut self) {
        self.profile.packs = false;
    }

    /// All recorded buffers.
    #[must_use]
    pub fn buffers(&self) -> &[BufferInfo] {
        &self.buffers
    }

    /// The stages of a routine.
    #[must_use]
    pub fn stages(&self, routine: Routine) -> &[Stage] {
        self.routines.get(routine.0).map_or(&[], |(_, stages)| stages)
    }

    /// Iterates over all routines, with their names and stages.
    pub fn routines(&self) -> impl Iterator<Item = (&str, &[Stage])> {
        self.routines.iter().map(|(name, stages)| (name.as_str(), stages.as_slice()))
    }

    /// Adds a buffer of `len` zeros per member.
    pub fn buffer(&mut self, name: impl Into<String>, len: usize) -> Result<Buffer> {
        self.add(name.into(), len, Scope::Member)
    }

    /// Adds a buffer of `len` zeros that all members read and no stage writes.
    pub fn shared(&mut self, name: impl Into<String>, len: usize) -> Result<Buffer> {
        self.add(name.into(), len, Scope::Shared)
    }

    fn add(&mut self, name: String, len: usize, scope: Scope) -> Result<Buffer> {
        if len == 0 {
            return Err(Error::internal(format!("Buffer “{name}” has no elements")));
        }
        let copies = if scope == Scope::Member { self.members } else { 1 };
        let bytes = (len as u64).saturating_mul(4).saturating_mul(copies as u64);
        let total = self.bytes.saturating_add(bytes);
        let Profile { max_buffer_bytes, max_total_bytes, .. } = self.profile;
        let hint = "Use fewer images, fewer members, a smaller batch or a narrower network";
        if bytes > max_buffer_bytes {
            let what = format!("Bytes of buffer “{name}”");
            return Err(Error::limit(&what, bytes, max_buffer_bytes, hint));
        }
        if total > max_total_bytes {
            return Err(Error::limit("Bytes of all buffers", total, max_total_bytes, hint));
        }
        self.bytes = total;
        let buffer = Buffer { id: self.buffers.len(), len, scope };
        self.buffers.push(BufferInfo { name, buffer, initial: None });
        Ok(buffer)
    }

    /// Adds a buffer per member that holds `data`, all members in order, when the program is loaded.
    pub fn buffer_with(&mut self, name: impl Into<String>, data: Vec<f32>) -> Result<Buffer> {
        let buffer = self.add(name.into(), data.len() / self.members, Scope::Member)?;
        self.begin_with(buffer, data.into())?;
        Ok(buffer)
    }

    /// Sets the initial contents of a member buffer to `data`, all members in order. The buffer exists
    /// already, so one that is too large is refused before its contents are computed.
    pub fn begin_with(&mut self, buffer: Buffer, data: Arc<[f32]>) -> Result<()> {
        let members = self.members;
        let known = self.buffers.get_mut(buffer.id).filter(|info| info.buffer == buffer);
        let fits = |info: &&mut BufferInfo| data.len() == info.buffer.len() * members;
        let Some(info) = known.filter(fits) else {
            let message = format!("{} values for {} × {members}", data.len(), buffer.len());
            return Err(Error::internal(message));
        };
        info.initial = Some(data);
        Ok(())
    }

    /// Adds a shared buffer that holds `data`. The same allocation gives the same buffer, however often
    /// it is added.
    pub fn constant(&mut self, name: impl Into<String>, data: &Arc<[f32]>) -> Result<Buffer> {
        let same = |info: &&BufferInfo| {
            let initial = info.initial.as_ref().filter(|_| info.buffer.scope() == Scope::Shared);
            initial.is_some_and(|known| Arc::ptr_eq(known, data))
        };
        if let Some(info) = self.buffers.iter().find(same) {
            return Ok(info.buffer);
        }
        let buffer = self.add(name.into(), data.len(), Scope::Shared)?;
        self.buffers[buffer.id].initial = Some(Arc::clone(data));
        Ok(buffer)
    }

    /// Takes the buffers' initial contents. Once they are on the engine, the program need not hold them.
    pub(super) fn take_contents(&mut self) -> Vec<(Buffer, Arc<[f32]>)> {
        let contents = |info: &mut BufferInfo| Some((info.buffer, info.initial.take()?));
        self.buffers.iter_mut().filter_map(contents).collect()
    }

    /// Records a routine: the stages that `record` appends.
    pub fn routine(
        &mut self,
        name: impl Into<String>,
        record: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<Routine> {
        if self.recording {
            return Err(Error::internal("Routines do not nest"));
        }
        self.routines.push((name.into(), Vec::new()));
        self.recording = true;
        let result = record(self);
        self.recording = false;
        result?;
        Ok(Routine(self.routines.len() - 1))
    }

    /// Adds a routine that consists of the stages of several others, one after the other.
    pub fn join(&mut self, name: impl Into<String>, parts: &[Routine]) -> Result<Routine> {
        let stages: Vec<_> = parts.iter().flat_map(|&part| self.stages(part).to_vec()).collect();
        let joined = self.routine(name, |_| Ok(()))?;
        self.routines[joined.0].1 = stages;
        Ok(joined)
    }

    /// Appends a stage to the routine that is being recorded.
    ///
    /// `bindings` are in the kernel's order; `workgroups` are those of one member.
    pub fn stage<P: Pod>(
        &mut self,
        kernel: &'static Kernel,
        constants: &[(&'static str, u32)],
        params: &P,
        bindings: &[(View, usize)],
        workgroups: [usize; 2],
    ) -> Result<()> {
        self.push_stage(kernel, constants, bytemuck::bytes_of(params), bindings, workgroups)
    }

    // Apart from `stage`, so that it is compiled only once instead of once per kernel.
    fn push_stage(
        &mut self,
        kernel: &'static Kernel,
        constants: &[(&'static str, u32)],
        params: &[u8],
        bindings: &[(View, usize)],
        workgroups: [usize; 2],
    ) -> Result<()> {
        let name = kernel.name;
        if !self.recording {
            return Err(Error::internal(format!("Stage “{name}” was recorded outside a routine")));
        }
        let words: &[u32] = bytemuck::try_cast_slice(params).map_err(|_| {
            Error::internal(format!("Parameters of “{name}” are not whole 32-bit words"))
        })?;
        if words.len() != kernel.params.len() || words.len() > MAX_PARAMS {
            return Err(Error::internal(format!("Stage “{name}” has wrong parameters")));
        }
        if bindings.len() != kernel.bindings.len() || bindings.len() > MAX_BINDINGS {
            return Err(Error::internal(format!(
                "Stage “{name}” takes {} bindings",
                kernel.bindings.len()
            )));
        }
        for (i, ((view, extent), (slot, access))) in
            bindings.iter().zip(kernel.bindings).enumerate()
        {
            self.check_binding(kernel, slot, *access, *view, *extent)?;
            // A buffer that a dispatch writes may not be bound a second time: WebGPU's rule, and Rust's.
            let aliased =
                bindings.iter().zip(kernel.bindings).enumerate().any(|(j, (other, (_, a)))| {
                    i != j
                        && other.0.buffer.id == view.buffer.id
                        && (*access == Access::Write || *a == Access::Write)
                });
            if aliased {
                return Err(Error::internal(format!(
                    "Stage “{name}” binds the buffer of “{slot}” twice and writes it"
                )));
            }
        }
        for count in workgroups {
            check_limit(
                &format!("Workgroups of stage “{name}”"),
                count,
                self.profile.max_workgroups as usize,
            )?;
        }
        let mut stage = Stage {
            kernel,
            constants: constants.to_vec(),
            params: [0; MAX_PARAMS],
            bindings: bindings.iter().map(|&(view, extent)| Binding { view, extent }).collect(),
            workgroups: workgroups.map(|count| count.max(1) as u32),
        };
        stage.params[..words.len()].copy_from_slice(words);
        if let Some((_, stages)) = self.routines.last_mut() {
            stages.push(stage);
        }
        Ok(())
    }

    fn check_binding(
        &self,
        kernel: &Kernel,
        slot: &str,
        access: Access,
        view: View,
        extent: usize,
    ) -> Result<()> {
        let known = self.buffers.get(view.buffer.id).filter(|info| info.buffer == view.buffer);
        let Some(info) = known else {
            return Err(Error::internal(format!(
                "Stage “{}” binds “{slot}” to another program's buffer",
                kernel.name
            )));
        };
        if access == Access::Write && info.buffer.scope == Scope::Shared {
            return Err(Error::internal(format!(
                "Stage “{}” writes the shared buffer “{}”",
                kernel.name, info.name
            )));
        }
        if extent == 0 || view.offset.checked_add(extent).is_none_or(|end| end > info.buffer.len) {
            return Err(Error::internal(format!(
                "Stage “{}” needs {extent} elements at {} of “{}”, which holds {}",
                kernel.name, view.offset, info.name, info.buffer.len
            )));
        }
        Ok(())
    }
}

fn check_limit(what: &str, need: usize, have: usize) -> Result<()> {
    if need > have {
        return Err(Error::limit(what, need as u64, have as u64, "Make the problem smaller"));
    }
    Ok(())
}

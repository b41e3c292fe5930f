//! How often a shader's loops run: one of its threads is followed through naga's representation.
//!
//! Loops hang on uniforms, constants and the thread's own index. Floating-point numbers, and what lies in
//! storage or workgroup memory, are not followed: they are unknown.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use naga::{
    AddressSpace, Arena, ArraySize, BinaryOperator, Block, BuiltIn, Expression, Function,
    GlobalVariable, Handle, Literal, LocalVariable, MathFunction, Module, RelationalFunction,
    Scalar, ScalarKind, Statement, SwitchValue, Type, TypeInner, UnaryOperator,
};

/// The contents of uniform buffers, by group and binding.
pub type Uniforms = HashMap<(u32, u32), Vec<u8>>;

/// Iterations of a loop whose end is unknown: as many as the compiler supposes.
const SUPPOSED: u64 = 8;

/// Statements that are followed before the thread counts as lost.
const PATIENCE: u64 = 50_000_000;

/// A loop of a shader, in the order of the text, with functions put in where they are called.
#[derive(Debug, Clone, Copy)]
pub struct Loop {
    /// Iterations, over the whole run of the thread.
    pub iterations: u64,
    /// Times that it was begun.
    pub entered: u64,
}

/// Follows the first thread of the workgroup in the middle of a dispatch of `workgroups`.
pub fn count(module: &Module, workgroups: [u32; 3], uniforms: &Uniforms) -> Result<Vec<Loop>> {
    let entry = module.entry_points.first().context("a shader without an entry point")?;
    let group = workgroups.map(|count| count / 2);
    let size = entry.workgroup_size;
    let global = [0, 1, 2].map(|i| group[i] * size[i]);
    let vector = |v: [u32; 3]| Value::Parts(v.map(Value::U32).to_vec());
    let builtin = |builtin: &BuiltIn| match builtin {
        BuiltIn::GlobalInvocationId => vector(global),
        BuiltIn::WorkGroupId => vector(group),
        BuiltIn::NumWorkGroups => vector(workgroups),
        BuiltIn::LocalInvocationId => vector([0; 3]),
        BuiltIn::LocalInvocationIndex => Value::U32(0),
        _ => Value::Unknown,
    };
    let bound = |binding: &Option<naga::Binding>| match binding {
        Some(naga::Binding::BuiltIn(which)) => builtin(which),
        _ => Value::Unknown,
    };
    let arguments = entry.function.arguments.iter().map(|argument| {
        if let TypeInner::Struct { members, .. } = &module.types[argument.ty].inner {
            return Value::Parts(members.iter().map(|member| bound(&member.binding)).collect());
        }
        bound(&argument.binding)
    });
    let arguments = arguments.collect();
    let mut thread = Thread {
        module,
        uniforms,
        private: HashMap::new(),
        frames: Vec::new(),
        place: Vec::new(),
        counts: HashMap::new(),
        unknown_exits: 0,
        statements: 0,
    };
    thread.call(&entry.function, arguments)?;
    let mut loops = Vec::new();
    list(module, &entry.function.body, &mut Vec::new(), &thread.counts, &mut loops);
    Ok(loops)
}

/// Where a statement is: the addresses of the calls and loops around it, and its own.
type Place = Vec<usize>;

fn address(statement: &Statement) -> usize {
    std::ptr::from_ref(statement) as usize
}

/// Appends the loops of `block` in the order of the text.
fn list(
    module: &Module,
    block: &Block,
    place: &mut Place,
    counts: &HashMap<Place, (u64, u64)>,
    loops: &mut Vec<Loop>,
) {
    for statement in block {
        match statement {
            Statement::Block(block) => list(module, block, place, counts, loops),
            Statement::If { accept, reject, .. } => {
                list(module, accept, place, counts, loops);
                list(module, reject, place, counts, loops);
            }
            Statement::Switch { cases, .. } => {
                for case in cases {
                    list(module, &case.body, place, counts, loops);
                }
            }
            Statement::Loop { body, continuing, .. } => {
                place.push(address(statement));
                let (entered, iterations) = counts.get(place).copied().unwrap_or_default();
                loops.push(Loop { iterations, entered });
                list(module, body, place, counts, loops);
                list(module, continuing, place, counts, loops);
                place.pop();
            }
            Statement::Call { function, .. } => {
                place.push(address(statement));
                list(module, &module.functions[*function].body, place, counts, loops);
                place.pop();
            }
            _ => {}
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    U32(u32),
    I32(i32),
    Bool(bool),
    /// Of a vector, an array or a structure.
    Parts(Vec<Value>),
    Pointer(Root, Vec<usize>),
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Root {
    /// Of the frame with this number.
    Local(usize, Handle<LocalVariable>),
    Global(Handle<GlobalVariable>),
}

impl Value {
    fn part(&self, index: usize) -> Self {
        match self {
            Self::Parts(parts) => parts.get(index).cloned().unwrap_or(Self::Unknown),
            _ => Self::Unknown,
        }
    }

    fn index(&self) -> Option<usize> {
        match *self {
            Self::U32(value) => Some(value as usize),
            Self::I32(value) => usize::try_from(value).ok(),
            _ => None,
        }
    }

    /// `operate` on it, or on each of its parts.
    fn map(self, operate: &impl Fn(Self) -> Self) -> Self {
        match self {
            Self::Parts(parts) => {
                Self::Parts(parts.into_iter().map(|part| part.map(operate)).collect())
            }
            other => operate(other),
        }
    }

    /// `operate` on both, or on each pair of their parts.
    fn zip(self, other: Self, operate: &impl Fn(Self, Self) -> Self) -> Self {
        match (self, other) {
            (Self::Parts(left), Self::Parts(right)) => {
                let pairs = left.into_iter().zip(right);
                Self::Parts(pairs.map(|(left, right)| left.zip(right, operate)).collect())
            }
            (Self::Parts(left), right) => {
                let each = left.into_iter().map(|left| left.zip(right.clone(), operate));
                Self::Parts(each.collect())
            }
            (left, Self::Parts(right)) => {
                let each = right.into_iter().map(|right| left.clone().zip(right, operate));
                Self::Parts(each.collect())
            }
            (left, right) => operate(left, right),
        }
    }
}

struct Frame {
    arguments: Vec<Value>,
    locals: HashMap<Handle<LocalVariable>, Value>,
    /// What expressions were worth when they were last met.
    values: Vec<Option<Value>>,
}

enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

struct Thread<'a> {
    module: &'a Module,
    uniforms: &'a Uniforms,
    private: HashMap<Handle<GlobalVariable>, Value>,
    frames: Vec<Frame>,
    place: Place,
    /// Times that each loop was begun, and its iterations.
    counts: HashMap<Place, (u64, u64)>,
    /// Times that it was unknown whether a loop had come to its end.
    unknown_exits: u64,
    statements: u64,
}

impl<'a> Thread<'a> {
    fn call(&mut self, function: &'a Function, arguments: Vec<Value>) -> Result<Value> {
        let values = vec![None; function.expressions.len()];
        self.frames.push(Frame { arguments, locals: HashMap::new(), values });
        for (handle, variable) in function.local_variables.iter() {
            let value = match variable.init {
                Some(init) => self.value(function, init)?,
                None => zero(self.module, variable.ty),
            };
            self.frame().locals.insert(handle, value);
        }
        let flow = self.block(function, &function.body)?;
        self.frames.pop();
        Ok(if let Flow::Return(value) = flow { value } else { Value::Unknown })
    }

    fn frame(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn block(&mut self, function: &'a Function, block: &'a Block) -> Result<Flow> {
        for statement in block {
            let flow = self.statement(function, statement)?;
            if !matches!(flow, Flow::Next) {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, function: &'a Function, statement: &'a Statement) -> Result<Flow> {
        self.statements += 1;
        if self.statements > PATIENCE {
            bail!("a thread does not come to its end");
        }
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    let value = self.evaluate(&function.expressions, function, handle)?;
                    self.frame().values[handle.index()] = Some(value);
                }
            }
            Statement::Block(block) => return self.block(function, block),
            Statement::If { condition, accept, reject } => {
                let condition = self.value(function, *condition)?;
                let accepted = match condition {
                    Value::Bool(condition) => condition,
                    // It goes on, if it can.
                    _ => !leaves(accept) && !skips(accept),
                };
                if condition == Value::Unknown && (leaves(accept) || leaves(reject)) {
                    self.unknown_exits += 1;
                }
                return self.block(function, if accepted { accept } else { reject });
            }
            Statement::Switch { selector, cases } => {
                let selector = self.value(function, *selector)?;
                let matches = |value: &SwitchValue| match *value {
                    SwitchValue::I32(value) => selector == Value::I32(value),
                    SwitchValue::U32(value) => selector == Value::U32(value),
                    SwitchValue::Default => false,
                };
                let default = || cases.iter().position(|case| case.value == SwitchValue::Default);
                let found = cases.iter().position(|case| matches(&case.value)).or_else(default);
                for case in found.map_or(&[][..], |first| &cases[first..]) {
                    match self.block(function, &case.body)? {
                        Flow::Next if case.fall_through => {}
                        Flow::Next | Flow::Break => break,
                        flow => return Ok(flow),
                    }
                }
            }
            Statement::Loop { body, continuing, break_if } => {
                self.place.push(address(statement));
                let place = self.place.clone();
                let flow = self.iterate(function, (body, continuing, *break_if), &place);
                self.place.pop();
                return flow;
            }
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
            Statement::Return { value } => {
                let value = match value {
                    Some(value) => self.value(function, *value)?,
                    None => Value::Unknown,
                };
                return Ok(Flow::Return(value));
            }
            Statement::Store { pointer, value } => {
                let (pointer, value) =
                    (self.value(function, *pointer)?, self.value(function, *value)?);
                self.store(&pointer, value);
            }
            Statement::Call { function: callee, arguments, result } => {
                let arguments = arguments.iter().map(|&argument| self.value(function, argument));
                let arguments = arguments.collect::<Result<_>>()?;
                self.place.push(address(statement));
                let value = self.call(&self.module.functions[*callee], arguments)?;
                self.place.pop();
                if let Some(result) = result {
                    self.frame().values[result.index()] = Some(value);
                }
            }
            _ => {}
        }
        Ok(Flow::Next)
    }

    fn iterate(
        &mut self,
        function: &'a Function,
        (body, continuing, break_if): (&'a Block, &'a Block, Option<Handle<Expression>>),
        place: &Place,
    ) -> Result<Flow> {
        self.counts.entry(place.clone()).or_default().0 += 1;
        let mut supposed = 0;
        loop {
            let before = self.unknown_exits;
            match self.block(function, body)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
            }
            self.counts.entry(place.clone()).or_default().1 += 1;
            if self.unknown_exits > before {
                supposed += 1;
                if supposed == SUPPOSED {
                    return Ok(Flow::Next);
                }
            }
            self.block(function, continuing)?;
            if let Some(condition) = break_if
                && self.value(function, condition)? != Value::Bool(false)
            {
                return Ok(Flow::Next);
            }
        }
    }

    /// What an expression was worth when it was last met, or is worth where it stands for itself.
    fn value(&mut self, function: &'a Function, handle: Handle<Expression>) -> Result<Value> {
        if let Some(value) = &self.frame().values[handle.index()] {
            return Ok(value.clone());
        }
        self.evaluate(&function.expressions, function, handle)
    }

    fn evaluate(
        &mut self,
        expressions: &'a Arena<Expression>,
        function: &'a Function,
        handle: Handle<Expression>,
    ) -> Result<Value> {
        Ok(match &expressions[handle] {
            Expression::Literal(literal) => literal_value(literal),
            Expression::Constant(constant) => {
                constant_value(self.module, self.module.constants[*constant].init)
            }
            Expression::ZeroValue(ty) => zero(self.module, *ty),
            Expression::Compose { ty, components } => {
                let components = components.iter().map(|&part| self.value(function, part));
                let components = components.collect::<Result<_>>()?;
                flatten(self.module, *ty, components)
            }
            Expression::Access { base, index } => {
                let (base, index) = (self.value(function, *base)?, self.value(function, *index)?);
                index.index().map_or(Value::Unknown, |index| access(&base, index))
            }
            Expression::AccessIndex { base, index } => {
                access(&self.value(function, *base)?, *index as usize)
            }
            Expression::Splat { size, value } => {
                Value::Parts(vec![self.value(function, *value)?; *size as usize])
            }
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(function, *vector)?;
                let parts = pattern[..*size as usize].iter();
                Value::Parts(parts.map(|&part| vector.part(part as usize)).collect())
            }
            Expression::FunctionArgument(index) => self.frame().arguments[*index as usize].clone(),
            Expression::GlobalVariable(variable) => {
                Value::Pointer(Root::Global(*variable), Vec::new())
            }
            Expression::LocalVariable(variable) => {
                Value::Pointer(Root::Local(self.frames.len() - 1, *variable), Vec::new())
            }
            Expression::Load { pointer } => {
                let pointer = self.value(function, *pointer)?;
                self.load(&pointer)
            }
            Expression::Unary { op, expr } => {
                let op = *op;
                self.value(function, *expr)?.map(&|value| unary(op, &value))
            }
            Expression::Binary { op, left, right } => {
                let op = *op;
                let (left, right) = (self.value(function, *left)?, self.value(function, *right)?);
                left.zip(right, &|left, right| binary(op, left, right))
            }
            Expression::Select { condition, accept, reject } => {
                let condition = self.value(function, *condition)?;
                let accept = self.value(function, *accept)?;
                let reject = self.value(function, *reject)?;
                match condition {
                    Value::Bool(true) => accept,
                    Value::Bool(false) => reject,
                    _ => Value::Unknown,
                }
            }
            Expression::Relational { fun, argument } => {
                relational(*fun, self.value(function, *argument)?)
            }
            Expression::Math { fun, arg, arg1, arg2, .. } => {
                let first = self.value(function, *arg)?;
                let Some(second) = arg1 else { return Ok(Value::Unknown) };
                let second = self.value(function, *second)?;
                match (fun, arg2) {
                    (MathFunction::Clamp, Some(third)) => {
                        let third = self.value(function, *third)?;
                        let low = first.zip(second, &|a, b| math(MathFunction::Max, a, b));
                        low.zip(third, &|a, b| math(MathFunction::Min, a, b))
                    }
                    (MathFunction::Dot, _) => dot(first, second),
                    _ => first.zip(second, &|first, second| math(*fun, first, second)),
                }
            }
            Expression::As { expr, kind, convert } => {
                let (kind, convert) = (*kind, convert.is_some());
                self.value(function, *expr)?.map(&|value| cast(kind, convert, value))
            }
            _ => Value::Unknown,
        })
    }

    fn load(&self, pointer: &Value) -> Value {
        let Value::Pointer(root, path) = pointer else { return Value::Unknown };
        let whole = match *root {
            Root::Local(frame, variable) => self.frames[frame].locals.get(&variable),
            Root::Global(variable) => {
                let global = &self.module.global_variables[variable];
                match global.space {
                    AddressSpace::Uniform => {
                        let binding =
                            global.binding.map(|binding| (binding.group, binding.binding));
                        let bytes = binding.and_then(|binding| self.uniforms.get(&binding));
                        let Some(bytes) = bytes else { return Value::Unknown };
                        return uniform(self.module, global.ty, bytes, path);
                    }
                    AddressSpace::Private => self.private.get(&variable),
                    _ => None,
                }
            }
        };
        let Some(whole) = whole else { return Value::Unknown };
        path.iter().fold(whole.clone(), |value, &index| value.part(index))
    }

    fn store(&mut self, pointer: &Value, value: Value) {
        let Value::Pointer(root, path) = pointer else { return };
        let whole = match *root {
            Root::Local(frame, variable) => self.frames[frame].locals.get_mut(&variable),
            Root::Global(variable) => {
                let global = &self.module.global_variables[variable];
                if global.space != AddressSpace::Private {
                    return;
                }
                let begin = || zero(self.module, global.ty);
                Some(self.private.entry(variable).or_insert_with(begin))
            }
        };
        let target = path.iter().try_fold(whole, |target, &index| match target {
            Some(Value::Parts(parts)) => Some(parts.get_mut(index)),
            _ => None,
        });
        if let Some(Some(target)) = target {
            *target = value;
        }
    }
}

/// Whether a block leaves a loop, or the function, itself.
fn leaves(block: &Block) -> bool {
    block.iter().any(|statement| matches!(statement, Statement::Break | Statement::Return { .. }))
}

/// Whether a block ends an iteration of a loop early.
fn skips(block: &Block) -> bool {
    block.iter().any(|statement| matches!(statement, Statement::Continue))
}

fn access(base: &Value, index: usize) -> Value {
    match base {
        Value::Pointer(root, path) => {
            let mut path = path.clone();
            path.push(index);
            Value::Pointer(*root, path)
        }
        other => other.part(index),
    }
}

fn literal_value(literal: &Literal) -> Value {
    match *literal {
        Literal::U32(value) => Value::U32(value),
        Literal::I32(value) => Value::I32(value),
        Literal::Bool(value) => Value::Bool(value),
        _ => Value::Unknown,
    }
}

fn constant_value(module: &Module, handle: Handle<Expression>) -> Value {
    match &module.global_expressions[handle] {
        Expression::Literal(literal) => literal_value(literal),
        Expression::Constant(constant) => constant_value(module, module.constants[*constant].init),
        Expression::ZeroValue(ty) => zero(module, *ty),
        Expression::Compose { ty, components } => {
            let parts = components.iter().map(|&part| constant_value(module, part));
            flatten(module, *ty, parts.collect())
        }
        Expression::Splat { size, value } => {
            Value::Parts(vec![constant_value(module, *value); *size as usize])
        }
        _ => Value::Unknown,
    }
}

/// A vector may be composed of shorter ones.
fn flatten(module: &Module, ty: Handle<Type>, parts: Vec<Value>) -> Value {
    if !matches!(module.types[ty].inner, TypeInner::Vector { .. }) {
        return Value::Parts(parts);
    }
    let flat = parts.into_iter().flat_map(|part| match part {
        Value::Parts(parts) => parts,
        other => vec![other],
    });
    Value::Parts(flat.collect())
}

fn zero_scalar(scalar: Scalar) -> Value {
    match scalar.kind {
        ScalarKind::Uint => Value::U32(0),
        ScalarKind::Sint => Value::I32(0),
        ScalarKind::Bool => Value::Bool(false),
        _ => Value::Unknown,
    }
}

fn zero(module: &Module, ty: Handle<Type>) -> Value {
    match &module.types[ty].inner {
        TypeInner::Scalar(scalar) => zero_scalar(*scalar),
        TypeInner::Vector { size, scalar } => {
            Value::Parts(vec![zero_scalar(*scalar); *size as usize])
        }
        TypeInner::Array { base, size: ArraySize::Constant(size), .. } => {
            Value::Parts(vec![zero(module, *base); size.get() as usize])
        }
        TypeInner::Struct { members, .. } => {
            Value::Parts(members.iter().map(|member| zero(module, member.ty)).collect())
        }
        _ => Value::Unknown,
    }
}

/// What lies at `path` of a uniform of type `ty`.
fn uniform(module: &Module, ty: Handle<Type>, bytes: &[u8], path: &[usize]) -> Value {
    let inner = &module.types[ty].inner;
    let rest = |offset: usize| bytes.get(offset..).unwrap_or_default();
    let scalar_at = |scalar: &Scalar, offset: usize| {
        let Some(word) = rest(offset).first_chunk::<4>() else { return Value::Unknown };
        match scalar.kind {
            ScalarKind::Uint => Value::U32(u32::from_le_bytes(*word)),
            ScalarKind::Sint => Value::I32(i32::from_le_bytes(*word)),
            _ => Value::Unknown,
        }
    };
    let part = |index: usize, path: &[usize]| match inner {
        TypeInner::Vector { scalar, .. } => scalar_at(scalar, 4 * index),
        TypeInner::Array { base, stride, .. } => {
            uniform(module, *base, rest(index * *stride as usize), path)
        }
        TypeInner::Struct { members, .. } => members.get(index).map_or(Value::Unknown, |member| {
            uniform(module, member.ty, rest(member.offset as usize), path)
        }),
        _ => Value::Unknown,
    };
    if let Some((&index, path)) = path.split_first() {
        return part(index, path);
    }
    let all = |count: usize| Value::Parts((0..count).map(|index| part(index, &[])).collect());
    match inner {
        TypeInner::Scalar(scalar) => scalar_at(scalar, 0),
        TypeInner::Vector { size, .. } => all(*size as usize),
        TypeInner::Array { size: ArraySize::Constant(size), .. } => all(size.get() as usize),
        TypeInner::Struct { members, .. } => all(members.len()),
        _ => Value::Unknown,
    }
}

fn unary(op: UnaryOperator, value: &Value) -> Value {
    match (op, value) {
        (UnaryOperator::Negate, Value::I32(value)) => Value::I32(value.wrapping_neg()),
        (UnaryOperator::LogicalNot, Value::Bool(value)) => Value::Bool(!value),
        (UnaryOperator::BitwiseNot, Value::U32(value)) => Value::U32(!value),
        (UnaryOperator::BitwiseNot, Value::I32(value)) => Value::I32(!value),
        _ => Value::Unknown,
    }
}

fn binary(op: BinaryOperator, left: Value, right: Value) -> Value {
    use BinaryOperator as Op;
    macro_rules! integers {
        ($left:expr, $right:expr, $kind:path) => {{
            let (left, right) = ($left, $right);
            match op {
                Op::Add => $kind(left.wrapping_add(right)),
                Op::Subtract => $kind(left.wrapping_sub(right)),
                Op::Multiply => $kind(left.wrapping_mul(right)),
                Op::Divide => $kind(left.checked_div(right).unwrap_or(left)),
                Op::Modulo => $kind(left.checked_rem(right).unwrap_or(0)),
                Op::And => $kind(left & right),
                Op::InclusiveOr => $kind(left | right),
                Op::ExclusiveOr => $kind(left ^ right),
                Op::Equal => Value::Bool(left == right),
                Op::NotEqual => Value::Bool(left != right),
                Op::Less => Value::Bool(left < right),
                Op::LessEqual => Value::Bool(left <= right),
                Op::Greater => Value::Bool(left > right),
                Op::GreaterEqual => Value::Bool(left >= right),
                _ => Value::Unknown,
            }
        }};
    }
    match (left, right) {
        (Value::U32(left), Value::U32(right)) => match op {
            Op::ShiftLeft => Value::U32(left.wrapping_shl(right)),
            Op::ShiftRight => Value::U32(left.wrapping_shr(right)),
            _ => integers!(left, right, Value::U32),
        },
        (Value::I32(left), Value::U32(right)) => match op {
            Op::ShiftLeft => Value::I32(left.wrapping_shl(right)),
            Op::ShiftRight => Value::I32(left.wrapping_shr(right)),
            _ => Value::Unknown,
        },
        (Value::I32(left), Value::I32(right)) => integers!(left, right, Value::I32),
        (Value::Bool(left), Value::Bool(right)) => Value::Bool(match op {
            Op::Equal => left == right,
            Op::NotEqual => left != right,
            Op::And | Op::LogicalAnd => left && right,
            Op::InclusiveOr | Op::LogicalOr => left || right,
            _ => return Value::Unknown,
        }),
        _ => Value::Unknown,
    }
}

fn math(fun: MathFunction, first: Value, second: Value) -> Value {
    match (fun, first, second) {
        (MathFunction::Min, Value::U32(a), Value::U32(b)) => Value::U32(a.min(b)),
        (MathFunction::Max, Value::U32(a), Value::U32(b)) => Value::U32(a.max(b)),
        (MathFunction::Min, Value::I32(a), Value::I32(b)) => Value::I32(a.min(b)),
        (MathFunction::Max, Value::I32(a), Value::I32(b)) => Value::I32(a.max(b)),
        _ => Value::Unknown,
    }
}

fn dot(first: Value, second: Value) -> Value {
    let products = first.zip(second, &|a, b| binary(BinaryOperator::Multiply, a, b));
    let Value::Parts(products) = products else { return Value::Unknown };
    let sum = products.into_iter().reduce(|a, b| binary(BinaryOperator::Add, a, b));
    sum.unwrap_or(Value::Unknown)
}

fn relational(fun: RelationalFunction, value: Value) -> Value {
    let deciding = match fun {
        RelationalFunction::All => Value::Bool(false),
        RelationalFunction::Any => Value::Bool(true),
        _ => return Value::Unknown,
    };
    let parts = if let Value::Parts(parts) = value { parts } else { vec![value] };
    if parts.contains(&deciding) {
        deciding
    } else if parts.contains(&Value::Unknown) {
        Value::Unknown
    } else {
        parts.into_iter().next().unwrap_or(Value::Unknown)
    }
}

fn cast(kind: ScalarKind, convert: bool, value: Value) -> Value {
    match (kind, value) {
        (ScalarKind::Uint, Value::U32(value)) => Value::U32(value),
        (ScalarKind::Uint, Value::I32(value)) => Value::U32(value.cast_unsigned()),
        (ScalarKind::Uint, Value::Bool(value)) if convert => Value::U32(value.into()),
        (ScalarKind::Sint, Value::I32(value)) => Value::I32(value),
        (ScalarKind::Sint, Value::U32(value)) => Value::I32(value.cast_signed()),
        (ScalarKind::Sint, Value::Bool(value)) if convert => Value::I32(value.into()),
        (ScalarKind::Bool, Value::Bool(value)) => Value::Bool(value),
        (ScalarKind::Bool, Value::U32(value)) if convert => Value::Bool(value != 0),
        (ScalarKind::Bool, Value::I32(value)) if convert => Value::Bool(value != 0),
        _ => Value::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHADER: &str = "
struct Params { rows: u32, cols: i32 }
@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

fn row(first: u32) -> f32 {
    var sum = 0.0;
    for (var j = i32(first); j < p.cols; j += 4) {
        if j == 8 {
            continue;
        }
        sum += out[j];
    }
    return sum;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    for (var i = 0u; i < p.rows; i++) {
        out[id.x] += row(i);
        while out[i] > 0.0 {
            out[i] -= 1.0;
        }
    }
    if id.x < 64u {
        for (var i = 0u; i < 1000u; i++) {
            out[i] = 0.0;
        }
    }
}
";

    #[test]
    fn loops_are_counted_over_the_whole_run() {
        let module = naga::front::wgsl::parse_str(SHADER).unwrap();
        let params = [3_u32, 12].iter().flat_map(|word| word.to_le_bytes()).collect();
        let uniforms = Uniforms::from([((0, 1), params)]);
        let loops = count(&module, [4, 1, 1], &uniforms).unwrap();
        let found: Vec<_> = loops.iter().map(|one| (one.entered, one.iterations)).collect();
        // A row begins at 0, 1 or 2; where a loop ends is unknown if numbers decide it.
        assert_eq!(found, [(1, 3), (3, 9), (3, 3 * SUPPOSED), (0, 0)]);
    }
}

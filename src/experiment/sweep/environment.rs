//! What a scheduler's environment says: which shard this process computes, and how many threads it may use.

use std::num::NonZero;
use std::str::FromStr;
use std::thread;

use crate::error::{Error, Result};

/// Shard `index` of `count`, counted from 0, as `3/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardOf {
    /// Index of the shard.
    pub index: usize,
    /// Number of shards.
    pub count: usize,
}

impl FromStr for ShardOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .split_once('/')
            .and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parsed {
            Some((index, count)) if index < count => Ok(Self { index, count }),
            _ => Err("say 0/16 for the first of 16 shards, and 15/16 for the last".into()),
        }
    }
}

/// Environment variables by name.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Environment variables of this process. Those that schedulers set to “undefined” count as unset.
pub fn variables(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty() && value != "undefined")
}

/// An array job's variables: the task's number, the first, the last or the count, and the step.
struct Array {
    id: &'static str,
    first: &'static str,
    size: Size,
    step: &'static str,
    /// The base of an array whose numbers are the shards' own.
    base: usize,
}

enum Size {
    Count(&'static str),
    Last(&'static str),
}

const SLURM: Array = Array {
    id: "SLURM_ARRAY_TASK_ID",
    first: "SLURM_ARRAY_TASK_MIN",
    size: Size::Count("SLURM_ARRAY_TASK_COUNT"),
    step: "SLURM_ARRAY_TASK_STEP",
    base: 0,
};

const KUBERNETES: &str = "JOB_COMPLETION_INDEX";

const PBS: &str = "PBS_ARRAY_INDEX";

const GRID_ENGINE: Array = Array {
    id: "SGE_TASK_ID",
    first: "SGE_TASK_FIRST",
    size: Size::Last("SGE_TASK_LAST"),
    step: "SGE_TASK_STEPSIZE",
    base: 1,
};

/// The shard that the scheduler assigns, out of `count`; `None` without a scheduler.
///
/// An array with one task per shard may be numbered in any way. In an array with fewer tasks, such as one
/// that repeats missing shards, a task's number is the shard's.
pub fn shard(variables: Variables<'_>, count: usize) -> Result<Option<usize>> {
    let array = |array: &Array| array.shard(variables, count);
    let plain = |name| number(variables, name);
    let found = match array(&SLURM)? {
        Some(found) => Some((SLURM.id, found)),
        None => match (plain(KUBERNETES)?, plain(PBS)?) {
            (Some(index), _) => Some((KUBERNETES, index)),
            (None, Some(index)) => Some((PBS, index)),
            (None, None) => array(&GRID_ENGINE)?.map(|found| (GRID_ENGINE.id, found)),
        },
    };
    match found {
        Some((name, index)) if index >= count => Err(Error::bad_input(
            format!("{name} asks for shard {index}, but the plan has {count}"),
            format!("Submit an array from 0 to {}", count - 1),
        )),
        found => Ok(found.map(|(_, index)| index)),
    }
}

impl Array {
    fn shard(&self, variables: Variables<'_>, count: usize) -> Result<Option<usize>> {
        let Some(id) = number(variables, self.id)? else { return Ok(None) };
        let first = number(variables, self.first)?.unwrap_or(self.base);
        let step = number(variables, self.step)?.unwrap_or(1).max(1);
        let tasks = match self.size {
            Size::Count(name) => number(variables, name)?,
            Size::Last(name) => {
                number(variables, name)?.map(|last| last.saturating_sub(first) / step + 1)
            }
        };
        let shard = if tasks == Some(count) {
            id.checked_sub(first)
                .filter(|place| place.is_multiple_of(step))
                .map(|place| place / step)
        } else {
            None
        };
        let own = id.checked_sub(self.base);
        Ok(Some(shard.or(own).unwrap_or(usize::MAX)))
    }
}

fn number(variables: Variables<'_>, name: &str) -> Result<Option<usize>> {
    let parse = |text: String| {
        text.parse().map_err(|_| Error::bad_input(format!("{name} is “{text}”, not a number"), ""))
    };
    variables(name).map(parse).transpose()
}

/// Threads that the scheduler grants, or else those that the machine, the affinity of this process and
/// its control group allow.
pub fn threads(variables: Variables<'_>) -> Result<usize> {
    let granted = number(variables, "SLURM_CPUS_PER_TASK")?.filter(|&granted| granted > 0);
    Ok(granted.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard_in(list: &[(&str, &str)], count: usize) -> Result<Option<usize>> {
        shard(&|name| Some(list.iter().find(|(n, _)| *n == name)?.1.to_owned()), count)
    }

    fn slurm(id: &str, [min, count, step]: [&str; 3], shards: usize) -> Option<usize> {
        let list = [
            ("SLURM_ARRAY_TASK_ID", id),
            ("SLURM_ARRAY_TASK_MIN", min),
            ("SLURM_ARRAY_TASK_COUNT", count),
            ("SLURM_ARRAY_TASK_STEP", step),
        ];
        shard_in(&list, shards).unwrap()
    }

    #[test]
    fn an_array_with_a_task_for_each_shard_may_be_numbered_in_any_way() {
        assert_eq!(slurm("0", ["0", "4", "1"], 4), Some(0));
        assert_eq!(slurm("3", ["0", "4", "1"], 4), Some(3));
        assert_eq!(slurm("4", ["1", "4", "1"], 4), Some(3));
        assert_eq!(slurm("30", ["10", "3", "10"], 3), Some(2));
        // 3 and 5 of 16, once more.
        assert_eq!(slurm("5", ["3", "2", "2"], 16), Some(5));
    }

    #[test]
    fn other_schedulers_say_it_in_other_ways() {
        assert_eq!(shard_in(&[("JOB_COMPLETION_INDEX", "2")], 4).unwrap(), Some(2));
        assert_eq!(shard_in(&[("PBS_ARRAY_INDEX", "3")], 4).unwrap(), Some(3));
        assert_eq!(shard_in(&[("SGE_TASK_ID", "1")], 4).unwrap(), Some(0));
        let first_last =
            [("SGE_TASK_FIRST", "2"), ("SGE_TASK_LAST", "8"), ("SGE_TASK_STEPSIZE", "2")];
        let task = |id| shard_in(&[&first_last[..], &[("SGE_TASK_ID", id)]].concat(), 4).unwrap();
        assert_eq!(["2", "4", "8"].map(task), [Some(0), Some(1), Some(3)]);
        assert_eq!(shard_in(&[], 4).unwrap(), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let error = shard_in(&[("JOB_COMPLETION_INDEX", "4")], 4).unwrap_err().to_string();
        assert!(error.contains("asks for shard 4") && error.contains("from 0 to 3"), "{error}");
        assert!(shard_in(&[("SGE_TASK_ID", "0")], 4).is_err());
        let error = shard_in(&[("PBS_ARRAY_INDEX", "two")], 4).unwrap_err().to_string();
        assert!(error.contains("“two”"), "{error}");
    }

    #[test]
    fn shards_are_read_from_the_command_line() {
        assert_eq!("3/16".parse(), Ok(ShardOf { index: 3, count: 16 }));
        for text in ["16/16", "3", "a/b", "", "/", "-1/4"] {
            assert!(text.parse::<ShardOf>().is_err(), "{text}");
        }
    }

    #[test]
    fn threads_are_those_that_slurm_grants() {
        let granted = |name: &str| (name == "SLURM_CPUS_PER_TASK").then(|| "3".to_owned());
        assert_eq!(threads(&granted).unwrap(), 3);
        assert!(threads(&|_| None).unwrap() >= 1);
    }
}

//! Two directives that WGSL lacks, each on its own line: a repeated block and a conditional one.
//!
//! Loops over an array of registers are left rolled by software adapters, which then keep the array
//! in memory; a block repeated in the text stays in registers everywhere.
//!
//! * `#each i COUNT` … `#end` repeats the block with `$i` = 0, 1, … COUNT - 1.
//! * `#if NAME == VALUE` … `#end` keeps the block if the constant has that value.

/// Expands the directives in `source`.
pub(super) fn expand(source: &str, constants: &[(&str, u32)]) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let mut out = String::new();
    expand_lines(&lines, constants, &mut out);
    out
}

fn expand_lines(mut lines: &[&str], constants: &[(&str, u32)], out: &mut String) {
    let value = |name: &str| {
        let constant = constants.iter().find(|(known, _)| *known == name);
        let value = constant.map(|(_, value)| *value).or_else(|| name.parse().ok());
        debug_assert!(value.is_some(), "no constant is called {name}");
        value.unwrap_or(0)
    };
    while let Some((line, rest)) = lines.split_first() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (body, after) = match words.first() {
            Some(&("#each" | "#if")) => split_at_end(rest),
            _ => (&rest[..0], rest),
        };
        match words[..] {
            ["#each", name, count] => {
                let mut block = String::new();
                expand_lines(body, constants, &mut block);
                for i in 0..value(count) {
                    substitute(&block, name, &i.to_string(), out);
                }
            }
            ["#if", name, "==", expected] if value(name) == value(expected) => {
                expand_lines(body, constants, out);
            }
            ["#if", ..] => {}
            _ => {
                *out += line;
                out.push('\n');
            }
        }
        lines = after;
    }
}

/// Appends `block` with `text` in place of every `$name`. The standard library's string search would add
/// a kilobyte to the page's download.
fn substitute(block: &str, name: &str, text: &str, out: &mut String) {
    let mut pieces = block.split('$');
    *out += pieces.next().unwrap_or_default();
    for piece in pieces {
        if let Some(rest) = piece.strip_prefix(name) {
            *out += text;
            *out += rest;
        } else {
            out.push('$');
            *out += piece;
        }
    }
}

/// The lines before the `#end` that closes the block, and those after it.
fn split_at_end<'a, 'b>(lines: &'a [&'b str]) -> (&'a [&'b str], &'a [&'b str]) {
    let mut depth = 1;
    for (i, line) in lines.iter().enumerate() {
        match line.split_ascii_whitespace().next() {
            Some("#each" | "#if") => depth += 1,
            Some("#end") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&lines[..i], &lines[i + 1..]);
        }
    }
    (lines, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_nest() {
        let source = "a\n#each i ROWS\n#each j 2\nx_$i_$j\n#end\n#if L == 1\ny$i\n#end\n#end\nb\n";
        let expand = |l| expand(source, &[("ROWS", 2), ("L", l)]);
        assert_eq!(expand(0), "a\nx_0_0\nx_0_1\nx_1_0\nx_1_1\nb\n");
        assert_eq!(expand(1), "a\nx_0_0\nx_0_1\ny0\nx_1_0\nx_1_1\ny1\nb\n");
    }
}

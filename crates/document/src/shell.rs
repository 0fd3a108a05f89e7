//! Words of shell commands that messages print.

use std::borrow::Cow;

/// A file name as a word of a shell command: quoted where a shell interprets its characters, and
/// after `./` where a command takes it for an option. `-` alone, standard input, stays.
#[must_use]
pub fn shell_word(file: &str) -> String {
    if file.starts_with('-') && file != "-" {
        return quoted(&format!("./{file}"));
    }
    quoted(file)
}

/// A text other than a file name as a word of a shell command.
#[must_use]
pub fn quoted(text: &str) -> String {
    // Fails only for a NUL, which no argument has.
    shlex::try_quote(text).map_or_else(|_| text.to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_interprets_them() {
        for (argument, word) in [
            ("nodes/a.toml", "nodes/a.toml"),
            ("-", "-"),
            ("-x.toml", "./-x.toml"),
            ("my nodes/a.toml", "'my nodes/a.toml'"),
            ("a$(b)&", "'a$(b)&'"),
            ("it's", "\"it's\""),
        ] {
            assert_eq!(shell_word(argument), word);
        }
        let odd = "-'\"$`!\\ *";
        let read = shlex::split(&shell_word(odd)).unwrap();
        assert_eq!(read, [format!("./{odd}")]);
    }
}

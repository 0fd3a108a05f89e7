//! Words of shell commands that messages print.

use std::borrow::Cow;

/// A file name or another argument as a word of a shell command: quoted where a shell interprets
/// its characters, and after `./` where a command takes it for an option. `-` alone, standard
/// input, stays.
#[must_use]
pub fn shell_word(argument: &str) -> String {
    if argument.starts_with('-') && argument != "-" {
        return shell_word(&format!("./{argument}"));
    }
    // Fails only for a NUL, which no argument has.
    shlex::try_quote(argument).map_or_else(|_| argument.to_owned(), Cow::into_owned)
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

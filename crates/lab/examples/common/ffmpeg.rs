//! Clips of ffmpeg's test source, and what its decoder says of what arrived.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use polypath_core::units::Rate;

/// A clip of a moving picture, 25 of them a second, and a tone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestClip {
    pub(crate) seconds: u64,
    /// The rate of the video.
    pub(crate) video: Rate,
    /// The constant rate of the multiplex; without it, it follows the pictures.
    pub(crate) multiplex: Option<Rate>,
}

impl TestClip {
    /// Writes the clip; fails if ffmpeg does.
    pub(crate) fn make(self, path: &Path) -> io::Result<()> {
        let duration = self.seconds.to_string();
        let (rate, buffer) = (self.video.0.to_string(), (self.video.0 / 2).to_string());
        let status = ffmpeg()
            .args(["-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25"])
            .args(["-f", "lavfi", "-i", "sine=frequency=440", "-t", &duration])
            .args(["-c:v", "mpeg2video", "-g", "25", "-b:v", &rate])
            .args(["-minrate", &rate, "-maxrate", &rate, "-bufsize", &buffer])
            .args(["-c:a", "mp2", "-b:a", "128k"])
            .args(self.muxer())
            .arg(path)
            .status()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(status.to_string()))
        }
    }

    /// The bytes that ffmpeg sends of the clip, once it is made.
    pub(crate) fn packed(self, clip: &Path) -> io::Result<Vec<u8>> {
        let output = ffmpeg()
            .arg("-i")
            .arg(clip)
            .args(self.sending())
            .arg("pipe:1")
            .output()?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(io::Error::other(output.status.to_string()))
        }
    }

    /// The options between the input and the destination by which ffmpeg sends the clip.
    pub(crate) fn sending(self) -> Vec<String> {
        let copied = ["-c", "copy"].map(str::to_owned);
        copied.into_iter().chain(self.muxer()).collect()
    }

    fn muxer(self) -> Vec<String> {
        let mut options = ["-f", "mpegts"].map(str::to_owned).to_vec();
        if let Some(rate) = self.multiplex {
            options.extend(["-muxrate".to_owned(), rate.0.to_string()]);
        }
        options
    }
}

/// The number of lines that the decoder writes about a file.
pub(crate) fn decoder_errors(path: &Path) -> io::Result<usize> {
    let output = ffmpeg()
        .arg("-i")
        .arg(path)
        .args(["-f", "null", "-"])
        .output()?;
    let lines = output.stderr.split(|&byte| byte == b'\n');
    Ok(lines.filter(|line| !line.is_empty()).count())
}

/// ffmpeg without questions, and with errors alone on standard error.
pub(crate) fn ffmpeg() -> Command {
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-hide_banner", "-y", "-loglevel", "error"]);
    command.stdin(Stdio::null());
    command
}

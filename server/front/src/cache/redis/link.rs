//! One connection to a Redis server, in the protocol RESP2. Several commands are sent together, and
//! the size of the replies is limited.

use mehari_config::{RedisPlace, RedisServer};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// The most bytes of a reply.
const LONGEST: usize = 64 << 20;
/// The most levels of nested lists.
const DEEPEST: usize = 4;
/// The most parts of a reply. In memory a part is larger than in the bytes of the reply.
const MOST: usize = 100_000;
const ROOM: usize = 16 * 1024;

trait Socket: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Socket for T {}

pub struct Link {
    socket: Box<dyn Socket>,
    come: Vec<u8>,
}

#[derive(Debug, PartialEq)]
pub enum Reply {
    /// A text or a number.
    Text(Vec<u8>),
    Nothing,
    List(Vec<Reply>),
}

impl Reply {
    /// Returns the texts in a list.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let all = match self {
            Reply::List(all) => &all[..],
            _ => &[],
        };
        all.iter().filter_map(|reply| match reply {
            Reply::Text(text) => Some(&text[..]),
            _ => None,
        })
    }

    /// Returns the result of SCAN: the next cursor, and the names.
    pub fn page_of_names(&self) -> Option<(&[u8], Vec<&[u8]>)> {
        match self {
            Reply::List(parts) => match &parts[..] {
                [Reply::Text(cursor), names] => Some((cursor, names.texts().collect())),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Link {
    pub async fn open(server: &RedisServer) -> io::Result<Link> {
        let socket: Box<dyn Socket> = match &server.place {
            RedisPlace::Tcp(host, port) => {
                let socket = TcpStream::connect((host.as_str(), *port)).await?;
                socket.set_nodelay(true)?;
                Box::new(socket)
            }
            RedisPlace::Unix(path) => Box::new(UnixStream::connect(path).await?),
        };
        let come = Vec::new();
        let mut link = Link { socket, come };
        let number = server.database.to_string();
        let mut greeting: Vec<Vec<&[u8]>> = Vec::new();
        if let Some(password) = &server.password {
            let user = server.user.as_ref().map(String::as_bytes);
            let login = [&b"AUTH"[..]].into_iter().chain(user);
            greeting.push(login.chain([password.as_bytes()]).collect());
        }
        if server.database > 0 {
            greeting.push(vec![b"SELECT", number.as_bytes()]);
        }
        if !greeting.is_empty() {
            link.exchange(&greeting).await?;
        }
        Ok(link)
    }

    /// Returns the reply to each command. An error reply of the server is returned as an error.
    pub async fn exchange(&mut self, commands: &[Vec<&[u8]>]) -> io::Result<Vec<Reply>> {
        let mut request = Vec::new();
        for words in commands {
            request.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
            for word in words {
                request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
                request.extend_from_slice(word);
                request.extend_from_slice(b"\r\n");
            }
        }
        self.socket.write_all(&request).await?;
        let mut replies = Vec::with_capacity(commands.len());
        while replies.len() < commands.len() {
            let mut rest = &self.come[..];
            match parse(&mut rest, 0, &mut MOST.clone())? {
                Some(reply) => {
                    let used = self.come.len() - rest.len();
                    self.come.drain(..used);
                    replies.push(reply);
                }
                None => self.more().await?,
            }
        }
        // Further bytes would be taken for the reply to the next command.
        if self.come.is_empty() {
            Ok(replies)
        } else {
            Err(strange("more replies than commands"))
        }
    }

    async fn more(&mut self) -> io::Result<()> {
        if self.come.len() > LONGEST {
            return Err(strange("a reply too long"));
        }
        self.come.reserve(ROOM.max(self.come.len()));
        match self.socket.read_buf(&mut self.come).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn strange(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Takes one reply from `rest`. The reply may have at most `left` parts. `None`: the reply is
/// incomplete.
fn parse(rest: &mut &[u8], depth: usize, left: &mut usize) -> io::Result<Option<Reply>> {
    *left = left
        .checked_sub(1)
        .ok_or_else(|| strange("a reply with too many parts"))?;
    let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else {
        return if rest.len() > ROOM {
            Err(strange("a reply without an end"))
        } else {
            Ok(None)
        };
    };
    let (line, after) = (&rest[..end], &rest[end + 2..]);
    let Some((kind, text)) = line.split_first() else {
        return Err(strange("an empty reply"));
    };
    let number = || {
        let text = std::str::from_utf8(text).ok();
        let number = text.and_then(|text| text.parse::<i64>().ok());
        number.ok_or_else(|| strange("a reply without its length"))
    };
    let reply = match kind {
        b'+' | b':' => Reply::Text(text.to_vec()),
        b'-' => return Err(io::Error::other(String::from_utf8_lossy(text).into_owned())),
        b'$' | b'*' if number()? < 0 => Reply::Nothing,
        b'$' => {
            let length = number()? as usize;
            if length > LONGEST {
                return Err(strange("a reply too long"));
            }
            let Some((text, behind)) = after.split_at_checked(length + 2) else {
                return Ok(None);
            };
            if !text.ends_with(b"\r\n") {
                return Err(strange("a text that is longer than its announced length"));
            }
            *rest = behind;
            return Ok(Some(Reply::Text(text[..length].to_vec())));
        }
        b'*' if depth < DEEPEST => {
            let (count, mut behind) = (number()?, after);
            let mut all = Vec::new();
            for _ in 0..count {
                match parse(&mut behind, depth + 1, left)? {
                    Some(reply) => all.push(reply),
                    None => return Ok(None),
                }
            }
            *rest = behind;
            return Ok(Some(Reply::List(all)));
        }
        _ => return Err(strange("a reply of another protocol")),
    };
    *rest = after;
    Ok(Some(reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_whole_or_not_at_all() {
        let bytes = b"*3\r\n$2\r\na\r\r\n*1\r\n:7\r\n$-1\r\n+OK\r\n";
        let text = |text: &[u8]| Reply::Text(text.to_vec());
        let list = Reply::List(vec![
            text(b"a\r"),
            Reply::List(vec![text(b"7")]),
            Reply::Nothing,
        ]);
        let length = bytes.len() - 5;
        for end in 0..length {
            let mut rest = &bytes[..end];
            assert_eq!(read(&mut rest).expect("so far"), None, "{end}");
            assert_eq!(rest.len(), end, "nothing was taken");
        }
        let mut rest = &bytes[..];
        assert_eq!(read(&mut rest).expect("a list"), Some(list));
        assert_eq!(read(&mut rest).expect("a word"), Some(text(b"OK")));
        for wrong in [
            &b"?\r\n"[..],
            b"$x\r\n",
            b"\r\n",
            b"-ERR no\r\n",
            b"$99999999999\r\n",
            b"$2\r\nabcd",
            b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
        ] {
            assert!(read(&mut &wrong[..]).is_err(), "{}", wrong.escape_ascii());
        }
    }

    fn read(rest: &mut &[u8]) -> io::Result<Option<Reply>> {
        parse(rest, 0, &mut MOST.clone())
    }

    #[test]
    fn a_reply_of_more_parts_than_ours_ever_have_is_refused_before_it_has_all_come() {
        let few = [&b"*99999\r\n"[..], &b":1\r\n".repeat(99_999)].concat();
        assert!(matches!(read(&mut &few[..]), Ok(Some(Reply::List(all))) if all.len() == 99_999));
        let many = [&b"*4000000000\r\n"[..], &b":1\r\n".repeat(100_001)].concat();
        assert!(read(&mut &many[..]).is_err());
    }

    #[tokio::test]
    async fn what_nobody_asked_for_does_not_pass_for_the_next_reply() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let mut link = Link {
            socket: Box::new(ours),
            come: Vec::new(),
        };
        theirs.write_all(b"+OK\r\n+OK\r\n").await.expect("room");
        let ping = [vec![&b"PING"[..]]];
        assert!(link.exchange(&ping).await.is_err());
    }
}

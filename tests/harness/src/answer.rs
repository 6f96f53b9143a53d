//! A response as the client received it.

/// One response. Field names keep the case in which the server sent them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// `HTTP/1.1`
    pub protocol: String,
    pub status: u16,
    pub reason: String,
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    /// The statuses of the 1xx responses that came before this response.
    pub interim: Vec<u16>,
    /// False if the connection ended before the announced length or the last chunk.
    pub complete: bool,
}

impl Answer {
    /// Returns the value of a field, or `None` if the field is missing. Panics if the field is
    /// repeated.
    pub fn field(&self, name: &str) -> Option<String> {
        let mut values = self.all(name);
        assert!(values.len() <= 1, "{name} came {} times", values.len());
        values.pop()
    }

    /// Returns every value of a field, in order.
    pub fn all(&self, name: &str) -> Vec<String> {
        self.fields
            .iter()
            .filter(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            .collect()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body. Panics if the status is another one.
    #[track_caller]
    pub fn expect(&self, status: u16) -> String {
        assert_eq!(
            self.status,
            status,
            "expected {status}, got {} {}\n{}",
            self.status,
            self.reason,
            self.text()
        );
        self.text()
    }

    /// Returns the script's part of a response: the status, the script's fields sorted by name, and
    /// the body. Fields that servers add (Date, Server, framing) are left out.
    pub fn essence(&self) -> Essence {
        let mut fields: Vec<_> = self
            .fields
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
            .filter(|(name, _)| !OF_THE_SERVER.contains(&name.as_str()))
            .collect();
        // The sort is stable, because the order of fields with the same name is part of the
        // response.
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Essence {
            status: self.status,
            fields,
            body: self.body.clone(),
        }
    }
}

/// Fields that servers add to any response.
pub(crate) const OF_THE_SERVER: &[&str] = &[
    "date",
    "server",
    "connection",
    "keep-alive",
    "content-length",
    "transfer-encoding",
    "x-request-id",
];

/// The result of [`Answer::essence`].
#[derive(Clone, PartialEq, Eq)]
pub struct Essence {
    pub status: u16,
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl std::fmt::Debug for Essence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.status)?;
        for (name, value) in &self.fields {
            writeln!(f, "{name}: {}", value.escape_ascii())?;
        }
        let shown = &self.body[..self.body.len().min(2000)];
        write!(f, "({} bytes) {}", self.body.len(), shown.escape_ascii())
    }
}

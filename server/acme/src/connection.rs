//! The certificate process's side of the connection to the server.

use crate::authority::Prover;
use crate::message::{self, Level, Order, Proof, Report, Wish};
use crate::Error;
use mehari_config::ManagedDomain;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// How long the server may take to put proofs in place.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads orders until the server closes the socket.
pub async fn read(
    mut from: BufReader<OwnedReadHalf>,
    sender: mpsc::Sender<Order>,
) -> io::Result<()> {
    let mut is_first = true;
    loop {
        match message::read(&mut from).await {
            Ok(Some(order)) => {
                if sender.send(order).await.is_err() {
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            // The process before this one may have died after it read the start of this line.
            Err(error) if is_first && error.kind() == io::ErrorKind::InvalidData => {}
            Err(error) => return Err(error),
        }
        is_first = false;
    }
}

/// The connection to the server.
pub struct Server {
    pub to: OwnedWriteHalf,
    pub orders: mpsc::Receiver<Order>,
    /// New domains that came while an order was under way.
    pub news: Option<Vec<ManagedDomain>>,
    /// Certificates to revoke.
    pub wishes: VecDeque<Wish>,
}

impl Server {
    pub async fn say(&mut self, report: &Report) -> io::Result<()> {
        message::write(&mut self.to, report).await
    }

    pub async fn log(&mut self, level: Level, text: String) -> io::Result<()> {
        self.say(&Report::Log { level, text }).await
    }

    /// Keeps an order for later. Returns whether the order answers a proof.
    pub fn keep(&mut self, order: Order) -> bool {
        match order {
            Order::Manage { managed, .. } => self.news = Some(managed.domains),
            Order::Revoke(wish) => self.wishes.push_back(wish),
            Order::Proving => return true,
        }
        false
    }
}

impl Prover for Server {
    async fn prove(&mut self, proofs: Vec<Proof>) -> Result<(), Error> {
        let said = self.say(&Report::Prove(proofs)).await;
        said.map_err(|_| Error::Gone)?;
        let placed = async {
            loop {
                match self.orders.recv().await {
                    Some(order) => {
                        if self.keep(order) {
                            return Ok(());
                        }
                    }
                    None => return Err(Error::Gone),
                }
            }
        };
        let placed = tokio::time::timeout(PATIENCE, placed).await;
        placed.unwrap_or(Err(Error::Gone))
    }
}

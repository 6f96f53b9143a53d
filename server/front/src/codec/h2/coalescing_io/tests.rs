use super::*;
use std::task::Waker;

#[tokio::test]
async fn what_was_read_before_comes_first_and_a_round_leaves_together() {
    let (mut client, socket) = tokio::io::duplex(1024);
    let mut line = CoalescingIo::new(b"be".to_vec(), socket, FloodGuard::new(0));
    line.gather_by_round();
    client.write_all(b"fore").await.expect("room");
    let mut read = [0; 6];
    line.read_exact(&mut read).await.expect("six bytes");
    assert_eq!(&read, b"before");
    for word in ["one ", "two ", "three"] {
        line.write_all(word.as_bytes()).await.expect("gathered");
        line.flush().await.expect("not yet");
    }
    let cx = &mut Context::from_waker(Waker::noop());
    let mut heard = [0; 13];
    let early = &mut ReadBuf::new(&mut heard);
    assert!(Pin::new(&mut client).poll_read(cx, early).is_pending());
    assert!(line.poll_end_round(cx).is_ready());
    client.read_exact(&mut heard).await.expect("all of it");
    assert_eq!(&heard, b"one two three");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_waited_for() {
    let (mut client, socket) = tokio::io::duplex(16);
    let mut line = CoalescingIo::new(Vec::new(), socket, FloodGuard::new(0));
    line.gather_by_round();
    line.write_all(&[7; 40]).await.expect("gathered");
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(line.poll_end_round(cx).is_pending());
    let mut heard = [0; 40];
    let all = client.read_exact(&mut heard);
    let rest = std::future::poll_fn(|cx| line.poll_end_round(cx));
    let (all, rest) = tokio::join!(all, rest);
    assert!(all.is_ok() && rest.is_ok());
    assert_eq!(heard, [7; 40]);
}

#[tokio::test]
async fn the_end_of_what_the_client_sends_is_told_when_the_host_says_so() {
    let (client, socket) = tokio::io::duplex(16);
    let mut line = CoalescingIo::new(Vec::new(), socket, FloodGuard::new(0));
    line.gather_by_round();
    drop(client);
    let cx = &mut Context::from_waker(Waker::noop());
    let mut bytes = [0; 4];
    let into = &mut ReadBuf::new(&mut bytes);
    assert!(!line.holds_back_the_end());
    assert!(Pin::new(&mut line).poll_read(cx, into).is_pending());
    assert!(line.holds_back_the_end());
    assert!(Pin::new(&mut line).poll_read(cx, into).is_pending());
    line.release_end();
    assert!(Pin::new(&mut line).poll_read(cx, into).is_ready());
    assert!(into.filled().is_empty() && !line.holds_back_the_end());
}

#[tokio::test]
async fn an_empty_socket_is_asked_once_a_round() {
    let (mut client, socket) = tokio::io::duplex(16);
    let mut line = CoalescingIo::new(Vec::new(), socket, FloodGuard::new(0));
    line.gather_by_round();
    let cx = &mut Context::from_waker(Waker::noop());
    let mut bytes = [0; 4];
    let into = &mut ReadBuf::new(&mut bytes);
    assert!(Pin::new(&mut line).poll_read(cx, into).is_pending());
    client.write_all(b"late").await.expect("room");
    assert!(Pin::new(&mut line).poll_read(cx, into).is_pending());
    assert!(line.poll_end_round(cx).is_ready());
    assert!(Pin::new(&mut line).poll_read(cx, into).is_ready());
    assert_eq!(into.filled(), b"late");
}

//! Implements AsyncRead and AsyncWrite for an enum whose variants all hold such a type.

/// Implements AsyncRead and AsyncWrite for the enum `Name` in `delegate!(Name: One, Two)`. Each
/// call goes to the value in the variant.
macro_rules! delegate {
    ($name:ident: $($variant:ident),+) => {
        impl tokio::io::AsyncRead for $name {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                into: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    $($name::$variant(inner) => Pin::new(inner).poll_read(cx, into),)+
                }
            }
        }

        impl tokio::io::AsyncWrite for $name {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                match self.get_mut() {
                    $($name::$variant(inner) => Pin::new(inner).poll_write(cx, bytes),)+
                }
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                slices: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                match self.get_mut() {
                    $($name::$variant(inner) => Pin::new(inner).poll_write_vectored(cx, slices),)+
                }
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    $($name::$variant(inner) => Pin::new(inner).poll_flush(cx),)+
                }
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    $($name::$variant(inner) => Pin::new(inner).poll_shutdown(cx),)+
                }
            }
        }
    };
}

pub(super) use delegate;

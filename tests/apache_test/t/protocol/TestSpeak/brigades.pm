package TestSpeak::brigades;

# Reads lines as brigades, changes them, and writes them through the filters of the connection.
use strict;
use warnings FATAL => 'all';
use Apache2::Connection ();
use Apache2::Filter ();
use APR::Brigade ();
use APR::Bucket  ();
use APR::Error   ();
use APR::Pool    ();
use APR::Socket  ();
use Apache2::Const -compile => qw(OK MODE_GETLINE);
use APR::Const -compile => qw(SUCCESS EOF SO_NONBLOCK);

sub handler {
    my $c = shift;
    $c->client_socket->opt_set(APR::Const::SO_NONBLOCK, 0);
    my ($in, $out) = map { APR::Brigade->new($c->pool, $c->bucket_alloc) } 1, 2;
    while (1) {
        my $status = $c->input_filters->get_brigade($in, Apache2::Const::MODE_GETLINE);
        last if $status == APR::Const::EOF;
        die APR::Error::strerror($status) unless $status == APR::Const::SUCCESS;
        $in->flatten(my $line);
        $in->cleanup;
        last if $line =~ /\A\s*\z/;
        $out->insert_tail(APR::Bucket->new($out->bucket_alloc, ucfirst reverse(substr $line, 0, -1) . "\n"));
        $c->output_filters->fflush($out);
        $out->cleanup;
    }
    $_->destroy for $in, $out;
    return Apache2::Const::OK;
}

1;

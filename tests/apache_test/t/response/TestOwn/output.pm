package TestOwn::output;

# Ways to write an answer. own/output.t is the client's side.

use strict;
use warnings FATAL => 'all';
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use Apache2::Response ();
use Apache2::SubRequest ();
use Apache2::Filter ();
use Apache2::Log ();
use APR::Table ();
use APR::Pool ();
use Apache2::Const -compile => qw(OK DECLINED NOT_FOUND REDIRECT SERVER_ERROR HTTP_CREATED :http);

my %CASES = (
    print     => sub { my $r = shift; $r->content_type('text/plain'); print 'stdout ' if 0; $r->print('one ', 'two'); $r->printf(' %03d', 7); $r->puts(' put'); $r->write(' written', 8); 0 },
    counts    => sub { my $r = shift; $r->content_type('text/plain'); my $n = $r->print('four'); my $z = $r->print(''); $r->print(" $n ", $z + 0, $z ? ' true' : ' false'); 0 },
    write     => sub { my $r = shift; $r->content_type('text/plain'); $r->write('0123456789', 4, 3); 0 },
    tied      => sub { my $r = shift; $r->content_type('text/plain'); local *STDOUT; tie *STDOUT, $r; print 'tied'; printf STDOUT ' %s', 'too'; untie *STDOUT; 0 },
    file      => sub { my $r = shift; $r->content_type('text/plain'); $r->sendfile($r->document_root . '/files/plain.txt'); 0 },
    part      => sub { my $r = shift; $r->content_type('text/plain'); $r->sendfile($r->document_root . '/files/plain.txt', 1, 3); 0 },
    nofile    => sub { my $r = shift; my $sent = eval { $r->sendfile('/not/there') }; $r->content_type('text/plain'); $r->print($@ ? 'error' : $sent == 2 ? 'ENOENT' : 'no error'); 0 },
    status    => sub { my $r = shift; $r->content_type('text/plain'); $r->status(Apache2::Const::HTTP_CREATED); $r->print('made'); 0 },
    length    => sub { my $r = shift; $r->content_type('text/plain'); $r->set_content_length(4); $r->print('four'); 0 },
    missing   => sub { Apache2::Const::NOT_FOUND },
    custom    => sub { my $r = shift; $r->custom_response(Apache2::Const::NOT_FOUND, 'custom words'); Apache2::Const::NOT_FOUND },
    elsewhere => sub { my $r = shift; $r->headers_out->set(Location => '/files/plain.txt'); Apache2::Const::REDIRECT },
    internal  => sub { my $r = shift; $r->internal_redirect('/files/plain.txt'); 0 },
    sub       => sub { my $r = shift; $r->content_type('text/plain'); $r->print('before '); my $sub = $r->lookup_uri('/TestOwn__output?print'); $sub->run; $r->print(' after ', $sub->status); 0 },
    subfile   => sub { my $r = shift; $r->content_type('text/plain'); my $sub = $r->lookup_file($r->document_root . '/files/plain.txt'); $r->print($sub->filename eq $r->document_root . '/files/plain.txt' ? 'same ' : 'other '); $sub->run; 0 },
    subcgi    => sub { my $r = shift; $r->content_type('text/plain'); $r->print('before '); $r->rflush; my $sub = $r->lookup_uri('/cgi-bin/echo.pl?word=within'); my $rc = $sub->run; $r->print("after $rc"); 0 },
    etag      => sub { my $r = shift; $r->content_type('text/plain'); $r->filename($r->document_root . '/files/plain.txt'); $r->update_mtime(784111777); $r->set_last_modified; my $rc = $r->meets_conditions; return $rc if $rc; $r->print('fresh'); 0 },
    dies      => sub { die "own words\n" },
    filtered  => sub { my $r = shift; $r->content_type('text/plain'); $r->add_output_filter(\&upper); $r->print('to be '); $r->rflush; $r->print('upper'); 0 },
    cgi       => sub { my $r = shift; my $head = "Content-Type: text/plain\nX-Cgi: yes\nStatus: 202 Taken\n\nrest "; $r->send_cgi_header($head); $r->print('more'); 0 },
    read      => sub { my $r = shift; $r->content_type('text/plain'); my $all = ''; while ($r->read(my $part, 7)) { $all .= "[$part]" } $r->print($all); 0 },
    discard   => sub { my $r = shift; $r->content_type('text/plain'); $r->print('discarded ', $r->discard_request_body); 0 },
    readoff   => sub { my $r = shift; $r->content_type('text/plain'); my $text = 'ab'; $r->read($text, 3, 5); $text =~ s/\0/./g; $r->print($text); 0 },
);

sub upper {
    my $f = shift;
    while ($f->read(my $part, 1024)) { $f->print(uc $part) }
    return Apache2::Const::OK;
}

sub handler {
    my $r = shift;
    my $case = $CASES{ $r->args // '' } or return Apache2::Const::DECLINED;
    return $case->($r);
}
1;

package Apache2::Response;

# Adds methods for the head of the response to `$r`.

use strict;
use warnings;
use Apache2::RequestRec ();

package Apache2::RequestRec;

use strict;
use warnings;
use Apache2::Util ();
use APR::Date ();

sub set_content_length { my ($self, $length) = @_; $self->headers_out->set('Content-Length', 0 + $length); return }

# Raises mtime, the time of the last change of anything that the response depends on.
sub update_mtime {
    my ($self, $time) = @_;
    $self->mtime($time) if ($time || 0) > $self->mtime;
    return;
}

# Returns the time, or now if the time is in the future.
sub rationalize_mtime { my ($self, $time) = @_; my $now = time; return $time > $now ? $now : $time }

sub set_last_modified {
    my ($self, $time) = @_;
    $self->update_mtime($time) if $time;
    $self->headers_out->set('Last-Modified', Apache2::Util::ht_time(undef, $self->rationalize_mtime($self->mtime)));
    return;
}

sub make_etag {
    my ($self, $force_weak) = @_;
    my $finfo = $self->finfo;
    my $mark = $finfo->filetype
        ? sprintf '"%x-%x"', $finfo->size, $self->mtime * 1_000_000
        : sprintf '"%x"', $self->mtime * 1_000_000;
    return $force_weak || $self->mtime >= time - 1 ? "W/$mark" : $mark;
}

sub set_etag { my ($self) = @_; $self->headers_out->set('ETag', $self->make_etag(0)); return }

sub set_keepalive { return 1 }

# Compares the client's If-* fields with headers_out (RFC 9110 section 13.2.2). Returns OK, 304 or
# 412.
sub meets_conditions {
    my ($self) = @_;
    my $status = $self->status;
    return 0 if $status >= 300 && $status != 304 || $self->no_local_copy;
    my ($in, $out) = ($self->headers_in, $self->headers_out);
    my $etag  = $out->get('ETag');
    my $mtime = $self->mtime || APR::Date::parse_http(scalar $out->get('Last-Modified')) || time;
    my $is_get = $self->method =~ /\A(?:GET|HEAD)\z/;
    if (defined(my $match = $in->get('If-Match'))) {
        return 412 if $match ne '*' && !_has_etag($match, $etag, 0);
    }
    elsif (defined(my $since = $in->get('If-Unmodified-Since'))) {
        my $limit = APR::Date::parse_http($since);
        return 412 if $limit && $mtime > $limit;
    }
    if (defined(my $none = $in->get('If-None-Match'))) {
        return 0 unless $none eq '*' || _has_etag($none, $etag, $is_get && !defined $in->get('Range'));
        return $is_get ? 304 : 412;
    }
    if ($is_get && defined(my $since = $in->get('If-Modified-Since'))) {
        my $limit = APR::Date::parse_http($since);
        return 304 if $limit && $limit >= $mtime && $limit <= time;
    }
    return 0;
}

sub _has_etag {
    my ($list, $etag, $weak) = @_;
    return 0 unless defined $etag;
    my $strip = sub { $weak ? $_[0] =~ s/\AW\///r : $_[0] };
    return 0 if !$weak && $etag =~ /\AW\//;
    for my $each ($list =~ m{((?:W/)?"[^"]*"|[^\s,]+)}g) { return 1 if $strip->($each) eq $strip->($etag) }
    return 0;
}

# send_cgi_header($text) reads a header block as a CGI script prints it. The text after the empty
# line belongs to the body.
sub send_cgi_header {
    my ($self, $text) = @_;
    my ($head, $body) = $text =~ /\A(.*?\n)(?:\r?\n(.*))?\z/s ? ($1, $2) : ($text, undef);
    my $cookies;
    for my $line (split /\r?\n/, $head) {
        next unless length $line;
        my ($name, $value) = $line =~ /\A([^:]+?)\s*:\s*(.*?)\s*\z/ or CORE::die "malformed header `$line`: expected `Name: value`\n";
        my $lower = lc $name;
        if    ($lower eq 'status')         { $self->_cgi_status($value) }
        elsif ($lower eq 'content-type')   { $self->content_type($value) }
        elsif ($lower eq 'location')       { $self->headers_out->set(Location => $value); $self->status(302) if $self->status == 200 }
        elsif ($lower eq 'content-length') { $self->headers_out->set('Content-Length' => $value) }
        elsif ($lower eq 'last-modified')  { $self->set_last_modified(APR::Date::parse_http($value)) }
        elsif ($lower eq 'set-cookie')     { $self->err_headers_out->add('Set-Cookie' => $value) }
        else                               { $self->headers_out->add($name => $value) }
    }
    $self->_head_is_set;
    $self->print($body) if defined $body && length $body;
    return;
}

sub _cgi_status {
    my ($self, $value) = @_;
    my ($number) = $value =~ /\A(\d{3})\b/ or CORE::die "malformed Status `$value`: expected a number from 200 to 599\n";
    $self->status($number);
    $self->status_line($value);
    return;
}

# Dies and names an alternative: a handler returns the status itself.
sub send_error_response {
    my ($self) = @_;
    CORE::die "Apache2::RequestRec::send_error_response: return the status from the handler instead\n";
}

sub send_mmap { CORE::die "Apache2::RequestRec::send_mmap: there are no APR mmaps here; use \$r->sendfile or \$r->print\n" }

1;

__END__

=head1 NAME

Apache2::Response - the head of the response

=head1 SYNOPSIS

    use Apache2::Response ();

    sub handler {
        my $r = shift;
        $r->update_mtime((stat $r->filename)[9]);
        $r->set_last_modified;
        $r->set_etag;
        my $status = $r->meets_conditions;
        return $status if $status;
        return $r->sendfile($r->filename) ? 404 : 0;
    }

=head1 DESCRIPTION

Loading this module adds methods to L<Apache2::RequestRec>. Times are seconds since 1970.

=head1 METHODS OF THE REQUEST

=over 4

=item custom_response(STATUS, DOCUMENT)

Sets the error page of a status for this request: a text, a path or a URL, as in the directive
ErrorDocument.

=item set_content_length(BYTES)

Sets Content-Length.

=item update_mtime(TIME)

Sets C<mtime> to this time if the time is later than C<mtime>.

=item rationalize_mtime(TIME)

Returns the time, or now if the time is in the future.

=item set_last_modified([TIME])

Updates C<mtime> and sets Last-Modified to C<mtime>.

=item make_etag(WEAK)

Returns an ETag made of the size of the file and C<mtime>. The ETag is weak if WEAK is true, or if
the last change was less than a second ago.

=item set_etag

Sets ETag.

=item meets_conditions

Compares the client's If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since with ETag,
C<mtime> and Last-Modified. Returns 0, 304 or 412. If the status of the response is 300 or more, it
returns 0.

=item send_cgi_header(TEXT)

Takes a header block as a CGI program prints it. The text after the empty line belongs to the body.
Dies for a line that is no field.

=item set_keepalive

Returns 1. The front, the process that owns the connections, decides whether the connection is kept.

=item send_error_response, send_mmap

Die and name an alternative.

=back

=head1 DIFFERENCES

In place of C<send_error_response>, return the status from the handler. C<send_cgi_header> returns
nothing, and accepts a part of a header block.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::RequestIO>.

=cut

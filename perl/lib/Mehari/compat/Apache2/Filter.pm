package Apache2::Filter;

# Filters: `sub handler { my $f = shift; while ($f->read(my $part, 1024)) { $f->print(lc $part) } OK
# }`, or with the brigade as an argument. Filters form a chain (Apache2::Filter::Chain): a reader
# asks the first filter for a brigade, which asks the next one; a writer passes a brigade to the
# first. Flushed output passes the chain at once. Other output passes it when much has gathered or
# at the end, in the pieces of mod_perl's buffer. The last call has no piece and `seen_eos`.

use strict;
use warnings;
use APR::Brigade       ();
use APR::BucketAlloc   ();
use Apache2::Const     ();
use Apache2::FilterRec ();
use Mehari::Absent     ();
use Mehari::Handler    ();
use Scalar::Util       ();

my $PIECE = 8192;

# By code: the init handler of a filter, and whether the filter is for connections.
my (%init, %of_connections);

# ---- for Apache2::Filter::Chain ----

# The filter at a place of a chain, which belongs to a request or a connection.
sub begun {
    my ($class, $chain, $handler, $place) = @_;
    my ($code, @invocant) = Mehari::Handler::called($handler);
    my $self = bless { %{ $chain->owner }, is_input => $chain->is_input, place => $place, ctx => undef, code => $code, invocant => \@invocant }, $class;
    Scalar::Util::weaken($self->{chain} = $chain);
    Scalar::Util::weaken($self->{c}) if $self->{c};
    my $init = $init{$code};
    $init->($self) if $init;
    return $self;
}

# Whether a filter, given by name or code, has the attribute `FilterConnectionHandler`.
sub is_of_connections { my ($code) = Mehari::Handler::called($_[0]); return $of_connections{$code} ? 1 : 0 }

# Passes a part of a body through the filters of a phase from a place on. Dies if one of them dies.
sub run {
    my ($r, $handlers, $body, $phase, $is_last, $place, $is_flushed, @pieces) = @_;
    require Apache2::Filter::Chain;
    my $chain = Apache2::Filter::Chain->of_request($r, $phase, $handlers);
    return $chain->drawn($body) if $chain->is_input;
    return $chain->passed($body, is_last => $is_last, is_flushed => $is_flushed, place => $place, pieces => \@pieces);
}

sub _call_with { my ($self, @arguments) = @_; return $self->{code}->(@{ $self->{invocant} }, $self, @arguments) // 0 }

# The server's own filter as programs see it: `$part` does its work.
sub of_server { my ($class, $part) = @_; return bless { part => $part }, __PACKAGE__ }

# The number of the place among the filters of a request, for `$r->lookup_uri`.
sub place_number { my ($self) = @_; return $self->{part} && $self->{part}->can('number') ? $self->{part}->number : undef }

# ---- towards the server ----

# get_brigade($brigade, $mode, $block, $bytes): the filter's output for the data behind it. Returns
# 0, or a status.
sub get_brigade {
    my ($self, $brigade, @asked) = @_;
    return $self->{part}->get_brigade($brigade, @asked) if $self->{part};
    return $self->next->get_brigade($brigade, @asked) if $self->{removed};
    @$self{qw(piece at eos made asked pulled status)} = ('', 0, 0, '', \@asked, 0, 0);
    my $answer   = $self->_call_with($brigade, @asked);
    my $declines = $answer eq Apache2::Const::DECLINED();
    die "a filter that has called \$f->read must return OK and not DECLINED\n" if $declines && $self->{pulled};
    return $self->next->get_brigade($brigade, @asked) if ($declines || $self->{removed}) && !$self->{pulled} && $brigade->is_empty;
    $self->{made} .= substr $self->{piece}, $self->{at} if $self->{removed};
    _add($brigade, $self->{made}, $self->{pulled} && $self->{eos} && 'eos_create');
    return $answer > 0 ? $answer : $brigade->is_empty ? $self->{status} : 0;
}

# A streaming filter reads one brigade per call.
sub _pull {
    my ($self) = @_;
    my $brigade = APR::Brigade->new($self->c->pool, APR::BucketAlloc->new);
    $self->{pulled} = 1;
    $self->{status} = $self->next->get_brigade($brigade, @{ $self->{asked} });
    $self->{eos}    = _has($brigade, 'is_eos');
    $brigade->flatten($self->{piece});
    return;
}

# ---- towards the client ----

# pass_brigade($brigade): passes the filter's output to the next filter. Returns 0, or a status.
# Printed output follows the brigades that the filter passed on itself.
sub pass_brigade {
    my ($self, $brigade) = @_;
    return $self->{part}->pass_brigade($brigade) if $self->{part};
    return 0 if $self->{ended};
    return $self->next->pass_brigade($brigade) if $self->{removed};
    my $flushes = _has($brigade, 'is_flush');
    my $is_last = _has($brigade, 'is_eos');
    @$self{qw(at eos made)} = (0, $is_last, '');
    $brigade->flatten($self->{piece});
    my $answer = $self->_call_with($brigade);
    if ($answer eq Apache2::Const::DECLINED()) {
        return $self->next->pass_brigade($brigade) unless $self->{at};
        $self->{made} .= substr $self->{piece}, $self->{at};
    }
    $self->{made} .= substr $self->{piece}, $self->{at} if $self->{removed};
    $self->{ended} = $is_last;
    $brigade->cleanup;
    _add($brigade, $self->{made}, $flushes && 'flush_create', $is_last && 'eos_create');
    my $status = $brigade->is_empty ? 0 : $self->next->pass_brigade($brigade);
    return $answer > 0 ? $answer : $status;
}

# The filter's output so far and the brigade are passed on, with a mark that flushes them.
sub fflush {
    my ($self, $brigade) = @_;
    return $self->{part}->fflush($brigade) if $self->{part};
    _add($brigade, '', 'flush_create');
    return $self->next->pass_brigade($brigade);
}

sub _has {
    my ($brigade, $mark) = @_;
    for (my $bucket = $brigade->first; $bucket; $bucket = $brigade->next($bucket)) { return 1 if $bucket->$mark }
    return 0;
}

sub _add {
    my ($brigade, $text, @marks) = @_;
    $brigade->insert_tail(APR::Bucket->of_text($text)) if length $text;
    $brigade->insert_tail(APR::Bucket->can($_)->($brigade->bucket_alloc)) for grep { $_ } @marks;
    return;
}

# ---- for the filter ----

# read($buffer, $length): bytes read; 0 at the end of the piece.
sub read {
    my ($self, undef, $length) = @_;
    $self->_pull if $self->{is_input} && !$self->{pulled};
    $length = $PIECE unless defined $length && $length >= 0;
    $_[1] = substr $self->{piece}, $self->{at}, $length;
    $self->{at} += length $_[1];
    return length $_[1];
}

sub print {
    my $self  = shift;
    my $bytes = length(my $text = join '', @_);
    utf8::encode($text) if utf8::is_utf8($text);
    $self->{made} .= $text;
    return $bytes || '0E0';
}

*puts = \&print;

sub printf { my ($self, $format, @values) = @_; return $self->print(sprintf $format, @values) }

sub seen_eos { my $self = shift; my $old = $self->{eos}; $self->{eos} = $_[0] if @_; return $old ? 1 : 0 }

# The filter's data between its calls for a request.
sub ctx { my $self = shift; my $old = $self->{ctx}; $self->{ctx} = $_[0] if @_; return $old }

sub r { my ($self) = @_; return $self->{part} ? $self->{part}{r} : $self->{r} }
sub c { my ($self) = @_; return $self->{c} || $self->r->connection }

sub remove { my ($self) = @_; return $self->{part}->remove if $self->{part}; $self->{removed} = 1; return }

# mod_perl uses one name for all its filters of a kind.
sub frec {
    my ($self) = @_;
    return $self->{part}->frec if $self->{part};
    return Apache2::FilterRec->new('modperl_' . ($self->{r} ? 'request' : 'connection') . ($self->{is_input} ? '_input' : '_output'));
}

sub next { my ($self) = @_; return $self->{part} ? $self->{part}->next : $self->{chain}->at($self->{place} + 1) }

# `tie *STDOUT, $f` and `tie *STDOUT, 'Apache2::Filter', $f`
sub TIEHANDLE { my ($class, $self) = @_; return ref $class ? $class : $self }
sub PRINT  { my $self = shift; return $self->print(@_) }
sub PRINTF { my $self = shift; return $self->printf(@_) }

# ---- attributes: `sub handler : FilterRequestHandler FilterHasInitHandler(\&init)` ----

sub MODIFY_CODE_ATTRIBUTES {
    my ($package, $code, @attributes) = @_;
    my @unknown;
    for my $attribute (@attributes) {
        if ($attribute =~ /\AFilter(?:Request|Init)Handler\z/) { next }
        elsif ($attribute =~ /\AFilterHasInitHandler\((.*)\)\z/s) { $init{$code} = eval "package $package; no strict; $1" or die "FilterHasInitHandler($1): $@" }
        elsif ($attribute eq 'FilterConnectionHandler') { $of_connections{$code} = 1 }
        else { push @unknown, $attribute }
    }
    return @unknown;
}

Mehari::Absent::methods(__PACKAGE__, 'a filter flushes by passing a brigade on: $f->fflush($bb)', 'filter_flush');

1;

__END__

=head1 NAME

Apache2::Filter - filters of bodies, in Perl

=head1 SYNOPSIS

    package My::Lower;
    use Apache2::Filter ();
    use Apache2::Const -compile => qw(OK);
    use parent -norequire, 'Apache2::Filter';

    sub handler : FilterRequestHandler {
        my $f = shift;
        while ($f->read(my $part, 1024)) { $f->print(lc $part) }
        return Apache2::Const::OK;
    }

=head1 DESCRIPTION

A filter is a sub that the directives PerlOutputFilterHandler and PerlInputFilterHandler or the
methods below name. It is called several times for a body; the last call has C<seen_eos>. A
streaming filter uses C<read> and C<print>. Another kind gets a brigade: C<($f, $bb)> for
output, C<($f, $bb, $mode, $block, $bytes)> for input, and calls C<pass_brigade> or
C<get_brigade> of C<< $f->next >>.

C<FilterRequestHandler> is for requests and C<FilterConnectionHandler> for connections.
C<FilterHasInitHandler(\&sub)> names a sub that runs once before the first call, and
C<FilterInitHandler> marks this sub.

=head1 METHODS

=over 4

=item read(BUFFER, [LENGTH])

Puts up to LENGTH bytes (8192) of the current piece into the buffer. Returns the number of
bytes, 0 at the end of the piece.

=item print(TEXTS), puts(TEXTS), printf(FORMAT, VALUES)

Writes to the next filter. Returns the number of characters, or C<0E0>.

=item seen_eos([FLAG])

Whether the body has ended.

=item ctx([VALUE])

Data of the filter between its calls for one body. Returns the old value.

=item r, c

The request and the connection. A filter of a connection has no request.

=item next

The next filter, or the end of the chain.

=item frec

An L<Apache2::FilterRec> with the name of the filter.

=item remove

Takes the filter out. What it has not read passes unchanged.

=item get_brigade(BRIGADE, MODE, BLOCK, BYTES)

Fills the brigade with input. Returns 0 or a status.

=item pass_brigade(BRIGADE)

Passes the brigade on. Returns 0 or a status.

=item fflush(BRIGADE)

Passes the brigade on with a mark that flushes it.

=item filter_flush

Dies: use fflush.

=item MODIFY_CODE_ATTRIBUTES

perl calls it for the attributes above.

=item TIEHANDLE, PRINT, PRINTF

For C<tie *STDOUT, 'Apache2::Filter', $f>.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item add_output_filter(HANDLER), add_input_filter(HANDLER)

Adds a filter by name or code. An output filter dies if a part of the response is on its way.

=back

=head1 METHODS OF THE CONNECTION

=over 4

=item add_output_filter(HANDLER), add_input_filter(HANDLER)

Adds a filter of the connection. Dies unless a PerlProcessConnectionHandler has the connection.

=back

=head1 DIFFERENCES

Input filters process the whole body before the response handler begins. Output passes the
filters when it is flushed, when 64 KiB have gathered, and at the end, in the pieces of mod_perl's
buffer. A response of the server that passes a Perl filter has no Content-Length. The server's own
error pages and listings are not filtered. F<docs/reference/modperl.md>, "Filters", has more.

=head1 SEE ALSO

L<Apache2::FilterRec>, L<APR::Brigade>, L<APR::Bucket>, L<Apache2::RequestIO>,
F<docs/reference/modperl.md>.

=cut

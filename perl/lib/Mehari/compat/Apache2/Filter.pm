package Apache2::Filter;

# Runs filters in Perl: `sub handler { my $f = shift; while ($f->read(my $part, 1024))
# { $f->print(lc $part) } OK }`, or subs that get a brigade as an argument. Filters form a chain
# (Apache2::Filter::Chain). A reader asks the first filter for a brigade, and each filter asks the
# next filter. A writer passes a brigade to the first filter, and each filter passes it on. Flushed
# output passes the chain at once. Other output waits until much has gathered or until the end, and
# then passes in the pieces that mod_perl's buffer would make. In the last call there is no data and
# `seen_eos` is true.

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

# code => the filter's init handler; code => true for a filter of connections.
my (%init, %of_connections);

# ---- for Apache2::Filter::Chain ----

# Returns a new filter for a place in a chain. The chain belongs to a request or a connection.
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

# Returns whether a filter, given by name or code, has the attribute `FilterConnectionHandler`.
sub is_of_connections { my ($code) = Mehari::Handler::called($_[0]); return $of_connections{$code} ? 1 : 0 }

# Passes a part of a body through the filters of a phase, from a place on. Dies if a filter dies.
sub run {
    my ($r, $handlers, $body, $phase, $is_last, $place, $is_flushed, @pieces) = @_;
    require Apache2::Filter::Chain;
    my $chain = Apache2::Filter::Chain->of_request($r, $phase, $handlers);
    return $chain->drawn($body) if $chain->is_input;
    return $chain->passed($body, is_last => $is_last, is_flushed => $is_flushed, place => $place, pieces => \@pieces);
}

# The output filter that runs now.
our $running;

# Adds the body of a sub-request behind what the filter that runs has printed.
sub insert { my ($body) = @_; $running->{made} .= $body if $running; return }

sub _call_with { my ($self, @arguments) = @_; local $running = $self->{is_input} ? undef : $self; return $self->{code}->(@{ $self->{invocant} }, $self, @arguments) // 0 }

# Returns one of the server's own filters for programs. `$part` does the work of this filter.
sub of_server { my ($class, $part) = @_; return bless { part => $part }, __PACKAGE__ }

# Returns the number of the filter among the filters of a request. `$r->lookup_uri` needs it.
sub place_number { my ($self) = @_; return $self->{part} && $self->{part}->can('number') ? $self->{part}->number : undef }

# ---- towards the server ----

# get_brigade($brigade, $mode, $block, $bytes) fills the brigade with the filter's output. The
# filter gets its input from the next filter. Returns 0, or a status.
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

# pass_brigade($brigade) runs the filter and passes its output to the next filter. Returns 0, or a
# status. What the filter has printed comes after the brigades that the filter has passed on itself.
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

# Passes the brigade on, with a flush bucket at its end.
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

# read($buffer, $length) returns the number of bytes read, or 0 at the end of the current piece.
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

# Returns or sets data that the filter keeps from call to call within one request.
sub ctx { my $self = shift; my $old = $self->{ctx}; $self->{ctx} = $_[0] if @_; return $old }

sub r { my ($self) = @_; return $self->{part} ? $self->{part}{r} : $self->{r} }
sub c { my ($self) = @_; return $self->{c} || $self->r->connection }

sub remove { my ($self) = @_; return $self->{part}->remove if $self->{part}; $self->{removed} = 1; return }

# Returns the record with the filter's name. Like mod_perl, Mehari uses one name for all Perl
# filters of a kind.
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
methods below name. It is called several times for a body. In the last call C<seen_eos> is true. A
streaming filter uses C<read> and C<print>. Any other filter works on brigades. An output filter
gets C<($f, $bb)> and calls C<pass_brigade> of C<< $f->next >>. An input filter gets C<($f, $bb,
$mode, $block, $bytes)> and calls C<get_brigade> of C<< $f->next >>.

The attribute C<FilterRequestHandler> marks a filter for requests, and C<FilterConnectionHandler>
marks a filter for connections. C<FilterHasInitHandler(\&sub)> names a sub that runs once before the
first call of the filter. This sub has the attribute C<FilterInitHandler>.

=head1 METHODS

=over 4

=item read(BUFFER, [LENGTH])

Puts up to LENGTH bytes of the current piece into the buffer. LENGTH defaults to 8192. Returns the
number of bytes, or 0 at the end of the piece.

=item print(TEXTS), puts(TEXTS), printf(FORMAT, VALUES)

Write to the next filter. Return the number of characters, or C<0E0> for none.

=item seen_eos([FLAG])

Returns whether the body has ended, and sets this flag.

=item ctx([VALUE])

Sets data that the filter keeps between its calls for one body. Returns the old value.

=item r, c

Return the request and the connection. A filter of a connection has no request.

=item next

Returns the next filter, or the end of the chain.

=item frec

Returns an L<Apache2::FilterRec> with the name of the filter.

=item remove

Takes the filter out of the chain. Data that the filter has not read pass unchanged.

=item get_brigade(BRIGADE, MODE, BLOCK, BYTES)

Fills the brigade with input. Returns 0 or a status.

=item pass_brigade(BRIGADE)

Passes the brigade on. Returns 0 or a status.

=item fflush(BRIGADE)

Passes the brigade on, with a flush bucket at its end.

=item filter_flush

Dies: use fflush.

=item MODIFY_CODE_ATTRIBUTES

Handles the attributes above. perl calls it.

=item TIEHANDLE, PRINT, PRINTF

Make C<tie *STDOUT, 'Apache2::Filter', $f> work. perl calls them.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item add_output_filter(HANDLER), add_input_filter(HANDLER)

Add a filter by name or code. C<add_output_filter> dies if a part of the response was sent already.

=back

=head1 METHODS OF THE CONNECTION

=over 4

=item add_output_filter(HANDLER), add_input_filter(HANDLER)

Add a filter to the connection. Die unless a PerlProcessConnectionHandler has the connection.

=back

=head1 DIFFERENCES

Input filters process the whole body before the response handler begins. Output passes the filters
when it is flushed, when 64 KiB have gathered, and at the end. The pieces have the sizes that
mod_perl's buffer would make. A file that passes a Perl filter is sent without Content-Length. The
server's own error pages and listings are not filtered. F<docs/reference/modperl.md>, "Filters", has
more.

=head1 SEE ALSO

L<Apache2::FilterRec>, L<APR::Brigade>, L<APR::Bucket>, L<Apache2::RequestIO>,
F<docs/reference/modperl.md>.

=cut

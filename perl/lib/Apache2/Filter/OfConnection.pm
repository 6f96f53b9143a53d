package Apache2::Filter::OfConnection;

# A filter of a connection (`FilterConnectionHandler`): who reads asks it for a brigade, and it asks the one behind it;
# who writes passes it one. The last of the chain is Apache2::Filter::Network.

use strict;
use warnings;
use APR::Brigade    ();
use APR::BucketAlloc ();
use Apache2::Const  ();
use Apache2::Filter ();
use Mehari::Handler ();

our @ISA = ('Apache2::Filter');

sub new {
    my ($class, $connection, $handler, $way, $behind) = @_;
    my ($code, @invocant) = Mehari::Handler::called($handler);
    my $self = bless { c => $connection, is_input => $way eq 'input', behind => $behind, name => ref $handler ? 'CODE' : $handler, ctx => undef, code => $code, invocant => \@invocant }, $class;
    Apache2::Filter::_init($code, $self);
    return $self;
}

sub r    { return undef }
sub c    { return $_[0]{c} }
sub next { return $_[0]{behind} }

sub _call_with { my ($self, @arguments) = @_; return $self->{code}->(@{ $self->{invocant} }, $self, @arguments) // 0 }

# ---- towards the server ----

# get_brigade($brigade, $mode, $block, $bytes): what the filter makes of what is behind it; 0, or a status.
sub get_brigade {
    my ($self, $brigade, @asked) = @_;
    return $self->{behind}->get_brigade($brigade, @asked) if $self->{removed};
    @$self{qw(piece at eos made asked pulled status)} = ('', 0, 0, '', \@asked, 0, 0);
    my $answer = $self->_call_with($brigade, @asked);
    my $passes = $answer eq Apache2::Const::DECLINED() || $self->{removed};
    return $self->{behind}->get_brigade($brigade, @asked) if $passes && !$self->{pulled} && $brigade->is_empty;
    $self->{made} .= substr $self->{piece}, $self->{at} if $passes;
    _add($brigade, $self->{made}, $self->{pulled} && $self->{eos} && 'eos_create');
    return $answer > 0 ? $answer : $brigade->is_empty ? $self->{status} : 0;
}

# A filter that streams reads one brigade a call.
sub read {
    my ($self) = @_;
    $self->_pull if $self->{is_input} && !$self->{pulled};
    goto &Apache2::Filter::read;
}

sub _pull {
    my ($self) = @_;
    my $brigade = $self->_new_brigade;
    $self->{pulled} = 1;
    $self->{status} = $self->{behind}->get_brigade($brigade, @{ $self->{asked} });
    $self->{eos}    = _has($brigade, 'is_eos');
    $brigade->flatten($self->{piece});
    return;
}

# ---- towards the client ----

sub pass_brigade {
    my ($self, $brigade) = @_;
    return $self->{behind}->pass_brigade($brigade) if $self->{removed};
    my $flushes = _has($brigade, 'is_flush');
    @$self{qw(at eos made)} = (0, _has($brigade, 'is_eos'), '');
    $brigade->flatten($self->{piece});
    my $answer = $self->_call_with($brigade);
    return $self->{behind}->pass_brigade($brigade) if $answer eq Apache2::Const::DECLINED();
    $brigade->cleanup;
    $self->{made} .= substr $self->{piece}, $self->{at} if $self->{removed};
    _add($brigade, $self->{made}, $flushes && 'flush_create', $self->{eos} && 'eos_create');
    return $brigade->is_empty ? 0 : $self->{behind}->pass_brigade($brigade);
}

sub fflush { my ($self, $brigade) = @_; return $self->pass_brigade($brigade) }

sub _new_brigade { my ($self) = @_; return APR::Brigade->new($self->{c}->pool, APR::BucketAlloc->new) }

sub _has {
    my ($brigade, $mark) = @_;
    for (my $bucket = $brigade->first; $bucket; $bucket = $brigade->next($bucket)) { return 1 if $bucket->$mark }
    return 0;
}

sub _add {
    my ($brigade, $text, @marks) = @_;
    $brigade->insert_tail(APR::Bucket->new($brigade->bucket_alloc, $text)) if length $text;
    $brigade->insert_tail(APR::Bucket->can($_)->($brigade->bucket_alloc)) for grep { $_ } @marks;
    return;
}

1;

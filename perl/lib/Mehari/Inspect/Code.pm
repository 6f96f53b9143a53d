package Mehari::Inspect::Code;

# One sub: its source (B::Deparse), its ops (B::Concise), its lexical variables and what a closure
# has captured.

use strict;
use warnings;
use B ();
use Mehari::Inspect ();
use Mehari::Inspect::Symbols ();

# Flags of a name in a pad: pad.h (PADNAMEt_OUTER, PADNAMEt_STATE, PADNAMEt_OUR).
my ($OUTER, $STATE, $OUR) = (1, 2, 16);
my $LONGEST = 120; # characters of a value that are shown

sub source {
    my ($name) = @_;
    my $code = Mehari::Inspect::code_of($name);
    _refuse_xs($name, $code);
    require B::Deparse;
    my $text = B::Deparse->new('-l', '-si4')->coderef2text($code);
    $text =~ s/^\s*#line \d+ .*\n//mg;
    return { title => "Source of $name", text => "sub $name $text\n", note => _place($code) };
}

sub ops {
    my ($name) = @_;
    my $code = Mehari::Inspect::code_of($name);
    _refuse_xs($name, $code);
    require B::Concise;
    my $text = '';
    B::Concise::reset_sequence();
    B::Concise::walk_output(\$text);
    B::Concise::compile('-basic', $code)->();
    return { title => "Ops of $name", text => $text, note => _place($code) };
}

sub _place { my ($code) = @_; return 'Compiled from ' . (Mehari::Inspect::Symbols::origin($code))[1] }

sub _refuse_xs {
    my ($name, $code) = @_;
    my $sub = B::svref_2object($code);
    die "`$name` is written in C (XS), so it has no Perl code\n" if $sub->XSUB;
    die "`$name` is declared, but has no code\n" if ${ $sub->ROOT } == 0;
    return;
}

sub lexicals {
    my ($name) = @_;
    my $code = Mehari::Inspect::code_of($name);
    _refuse_xs($name, $code);
    my ($names, $values) = B::svref_2object($code)->PADLIST->ARRAY;
    my @names  = $names->ARRAY;
    my @values = $values ? $values->ARRAY : ();
    my (@rows, %seen);
    for my $at (1 .. $#names) {
        my $variable = $names[$at];
        my $text = $variable && $variable->can('PV') ? $variable->PV : undef;
        next unless defined $text && length $text > 1;
        push @rows, _lexical($text, $variable->FLAGS, $values[$at], \%seen);
    }
    return { title => "Lexical variables of $name", rows => \@rows, columns => [
        { name => 'Variable' }, { name => 'Kind' }, { name => 'Value' }, { name => 'Bytes', kind => 'bytes' } ],
        note => _place($code) . '. A variable `my` keeps its memory between two calls; a captured one belongs to the code around the sub.' };
}

sub _lexical {
    my ($text, $flags, $value, $seen) = @_;
    my $kind = $flags & $OUR ? 'our' : $flags & $STATE ? 'state' : $flags & $OUTER ? 'captured' : 'my';
    my $held = $kind ne 'our' && $value && $value->can('object_2svref') ? $value->object_2svref : undef;
    return [ $text, $kind, $held ? _short($held) : '', $held ? Mehari::Inspect::_bytes($held, $seen) : undef ];
}

# Describes a value in a few words. Looks into no object, because its class may overload.
sub _short {
    my ($held) = @_;
    my $type = B::svref_2object($held)->can('FILL') ? 'ARRAY' : B::svref_2object($held)->can('KEYS') ? 'HASH' : 'SCALAR';
    return B::svref_2object($held)->FILL + 1 . ' elements' if $type eq 'ARRAY';
    return B::svref_2object($held)->KEYS . ' keys' if $type eq 'HASH';
    return 'code' if ref $held eq 'CODE';
    require Scalar::Util;
    my $inner = $$held;
    if (ref $inner) {
        my $class = Scalar::Util::blessed($inner);
        return 'reference to ' . Scalar::Util::reftype($inner) . (defined $class ? " of the class $class" : '');
    }
    return 'undef' unless defined $inner;
    return length $inner > $LONGEST ? substr($inner, 0, $LONGEST) . '...' : "$inner";
}

1;

__END__

=head1 NAME

Mehari::Inspect::Code - internal

=head1 DESCRIPTION

This module is internal to the server: it shows one sub for C<mehari inspect>.

=cut

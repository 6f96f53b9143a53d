package Mehari::Inspect;

# Answers questions about the interpreter of a worker or the zygote, for `mehari inspect` and the
# console. Only a forked twin of the process loads this module and calls `answer`
# (xs/process/inspection.c), so nothing here needs to be undone.

use strict;
use warnings;

# What was loaded before the inspector itself loads anything.
my %FILES;
BEGIN { %FILES = %INC; delete $FILES{'Mehari/Inspect.pm'} }

my %VIEWS = (
    process     => [ 'Mehari::Inspect::Loaded',  'process' ],
    modules     => [ 'Mehari::Inspect::Loaded',  'modules' ],
    scripts     => [ 'Mehari::Inspect::Loaded',  'scripts' ],
    environment => [ 'Mehari::Inspect::Loaded',  'environment' ],
    databases   => [ 'Mehari::Inspect::Loaded',  'databases' ],
    menu        => [ 'Mehari::Inspect::Loaded',  'menu' ],
    symbols     => [ 'Mehari::Inspect::Symbols', 'symbols' ],
    sizes       => [ 'Mehari::Inspect::Symbols', 'sizes' ],
    source      => [ 'Mehari::Inspect::Code',    'source' ],
    ops         => [ 'Mehari::Inspect::Code',    'ops' ],
    lexicals    => [ 'Mehari::Inspect::Code',    'lexicals' ],
);

# Returns a JSON object for a question: the name of a view, then a space and what the view is of.
# The object names the process that this one was forked from.
sub answer {
    my ($question, $pid) = @_;
    local ($@, $SIG{__DIE__}, $SIG{__WARN__});
    $SIG{__WARN__} = sub { };
    open my $nowhere, '>', '/dev/null' or return '';
    select $nowhere;
    my ($view, $name) = split / /, $question, 2;
    my $reply = eval {
        my $chosen = $VIEWS{$view} or die "there is no view `$view`\n";
        my ($class, $sub) = @$chosen;
        require(($class =~ s{::}{/}gr) . '.pm');
        $class->can($sub)->(defined $name && length $name ? $name : undef);
    };
    if (!$reply) {
        my $reason = $@ =~ s/\s+\z//r;
        $reply = { ok => \0, message => length $reason ? $reason : 'the inspector gave no answer' };
    }
    my $rows = delete $reply->{rows};
    my $object = _json({ ok => \1, pid => $pid, view => $view, name => $name // '', %$reply });
    return $object unless $rows;
    return $object =~ s/\}\z/',"rows":' . _rows($rows, $reply->{columns}) . '}'/er;
}

my %IS_FIGURE = map { $_ => 1 } qw(number bytes us);

# Only figures become JSON's numbers: the version 1.50 stays as it is.
sub _rows {
    my ($rows, $columns) = @_;
    my @figure = map { $_->{kind} && $IS_FIGURE{ $_->{kind} } } @$columns;
    my $cell = sub { my ($row, $at) = @_; $figure[$at] || !defined $row->[$at] ? _json($row->[$at]) : _text($row->[$at]) };
    return '[' . join(',', map { my $row = $_; '[' . join(',', map { $cell->($row, $_) } 0 .. $#figure) . ']' } @$rows) . ']';
}

# The modules that were loaded, by their names in %INC.
sub files { return \%FILES }

# Finds a package without making it. Dies if it does not exist.
sub package_of {
    my ($name) = @_;
    $name =~ /\A(?:::)?\w+(?:::\w+)*\z/ or die "expected the name of a package, not `$name`\n";
    my $found = \%main::;
    return $found if $name eq 'main';
    for my $part (split /::/, $name =~ s/\A(?:main)?:://r) {
        my $entry = exists $found->{"${part}::"} ? \$found->{"${part}::"} : undef;
        $found = $entry && ref $entry eq 'GLOB' ? *{$entry}{HASH} : undef;
        $found or die "the process has no package `$name`\n";
    }
    return $found;
}

# Finds a sub by its full name. Dies if it does not exist.
sub code_of {
    my ($name) = @_;
    defined $name or die "expected the name of a sub, such as `Shop::handler`\n";
    my ($package, $sub) = $name =~ /\A(?:(.*)::)?(\w+)\z/ or die "expected the name of a sub, not `$name`\n";
    $package = 'main' unless defined $package && length $package;
    my $code = code_in(package_of($package), $sub);
    return $code || die "the package `$package` has no sub `$sub`\n";
}

# Returns the code of an entry of a symbol table, or undef. perl keeps some subs without a glob.
sub code_in {
    my ($symbols, $name) = @_;
    return unless exists $symbols->{$name};
    my $entry = \$symbols->{$name};
    return ref $entry eq 'GLOB' ? *{$entry}{CODE} : ref $$entry eq 'CODE' ? $$entry : undef;
}

# ---- JSON ----

# Writes JSON itself, so that an answer needs no module that the site may have replaced. A reference
# to a number is a truth value.
sub _json {
    my ($value) = @_;
    return 'null' unless defined $value;
    if (ref $value eq 'ARRAY') { return '[' . join(',', map { _json($_) } @$value) . ']' }
    if (ref $value eq 'HASH') {
        return '{' . join(',', map { _text($_) . ':' . _json($value->{$_}) } sort keys %$value) . '}';
    }
    if (ref $value eq 'SCALAR') { return $$value ? 'true' : 'false' }
    return $value if $value =~ /\A(?:0|-?[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?\z/;
    return _text($value);
}

my %ESCAPED = ('"' => '\"', '\\' => '\\\\', "\n" => '\n', "\t" => '\t');

# Bytes that are no UTF-8 stand for Latin-1 characters.
sub _text {
    my ($text) = @_;
    $text = "$text";
    utf8::decode($text) unless utf8::is_utf8($text);
    $text =~ s/([\\"\n\t])|([\x00-\x1f\x7f-\x9f])|([^\x00-\x{10ffff}]|[\x{d800}-\x{dfff}])/
        defined $1 ? $ESCAPED{$1} : defined $2 ? sprintf('\u%04x', ord $2) : '\ufffd'/ge;
    utf8::encode($text);
    return qq{"$text"};
}

1;

__END__

=head1 NAME

Mehari::Inspect - internal

=head1 DESCRIPTION

This module is internal to the server: it answers C<mehari inspect> in a fork of the inspected
process.

=cut

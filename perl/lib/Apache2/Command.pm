package Apache2::Command;

# A directive as its module defines it: an entry of the list for Apache2::Module::add, or an object
# with methods of the same names.

use strict;
use warnings;
use Apache2::Const ();

# Makes the object from an entry; dies if the entry is not a command.
sub of {
    my ($class, $entry) = @_;
    my $get = sub {
        my ($key) = @_;
        return eval { ref $entry eq 'HASH' ? $entry->{$key} : $entry->$key };
    };
    my $name = $get->('name');
    defined $name && $name =~ /\A<?\w[\w.:-]*\z/ or die 'Apache2::Module::add: a command has no name' . (defined $name ? " (`$name`)" : '') . "\n";
    my $data = $get->('cmd_data');
    return bless {
        name         => $name,
        args_how     => _number($name, 'args_how', $get->('args_how'), Apache2::Const::TAKE1()),
        req_override => _number($name, 'req_override', $get->('req_override'), Apache2::Const::OR_ALL()),
        func         => $get->('func') // $name =~ s/\A<//r,
        errmsg       => $get->('errmsg') // "$name command",
        cmd_data     => $data // $get->('data'),
    }, $class;
}

# A number, or the name of a constant.
sub _number {
    my ($command, $key, $value, $default) = @_;
    return $default unless defined $value;
    return $value + 0 if $value =~ /\A\d+\z/;
    my $constant = Apache2::Const->can($value =~ s/\A(?:Apache2::Const::)?//r)
        or die "Apache2::Module::add: $key of $command is `$value`, expected a constant of Apache2::Const\n";
    return $constant->();
}

sub name         { return $_[0]{name} }
sub args_how     { return $_[0]{args_how} }
sub req_override { return $_[0]{req_override} }
sub errmsg       { return $_[0]{errmsg} }
sub func         { return $_[0]{func} }
sub cmd_data     { return $_[0]{cmd_data} }
sub next         { return $_[0]{'next in module'} }

1;

# Passes a cloud-init configuration with user data and join token to one virtual machine for each node. Replace
# terraform_data.vm by the resource of your provider. The state of Terraform contains the secrets: restrict access to it.

terraform {
  required_version = ">= 1.4"
}

variable "nodes" {
  description = "host names of the nodes"
  type        = set(string)
  default     = ["worker-7.example.com"]
}

variable "repository" {
  description = "URL of the repository with the packages of the agent"
  type        = string
  default     = "https://packages.example.com/hcp-node-agent"
}

variable "user_data_file" {
  description = "user data of the NodePool"
  type        = string
  default     = "user-data.ign"
}

variable "tokens_dir" {
  description = "directory with NAME.token of each node"
  type        = string
  default     = "tokens"
}

locals {
  cloud_config = {
    for name in var.nodes : name => templatefile("${path.module}/cloud-config.yaml.tftpl", {
      name       = name
      repository = var.repository
      token      = filebase64("${var.tokens_dir}/${name}.token")
      user_data  = filebase64(var.user_data_file)
    })
  }
}

# A stand-in for a virtual machine. The argument for the cloud-init configuration is, for example, user_data of
# aws_instance and openstack_compute_instance_v2, custom_data (in base64) of azurerm_linux_virtual_machine, and the key
# user-data in metadata of google_compute_instance.
resource "terraform_data" "vm" {
  for_each = var.nodes
  input    = sensitive(local.cloud_config[each.key])

  # New user data and join tokens must not replace machines that have joined.
  lifecycle {
    ignore_changes = [input]
  }
}
